# The two commands a newcomer needs: make demo, make test.  Both set up everything they use in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO_OUT ?= demo-out

.PHONY: demo test lint types unit docs bench papers clean

demo: $(VENV)/.ready
	$(BIN)/minertia demo --out $(DEMO_OUT)

test: lint types docs unit

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

unit: $(VENV)/.ready
	$(BIN)/pytest -n auto

docs: $(VENV)/.ready
	$(BIN)/sphinx-build -q -W --keep-going -d build/doctrees docs build/docs

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks

papers: $(VENV)/.ready
	$(BIN)/python -m papers

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) $(DEMO_OUT) build dist
