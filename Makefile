# The two commands a newcomer needs: make demo, make test.  Each sets up what it uses in .venv.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
DEMO_OUT ?= demo-out
EXTRAS ?= dev
# compiled modules are kept whatever the environment says: tests start hundreds of processes
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test test-all looked-over lint types collected unit unit-all mutants docs bench league papers studio wheel clean

demo: $(VENV)/.demo
	$(BIN)/minertia demo --force --out $(DEMO_OUT)

test: looked-over unit

# with the tests marked slow: large random sets, coverage, whole campaigns
test-all: looked-over unit-all

# what reads the sources only, side by side; mypy on one core takes as long as all others on a second one
looked-over: $(VENV)/.ready
	@$(MAKE) --no-print-directory -j2 types lint docs collected

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.ready
	$(BIN)/mypy

# compiles the tests once, after an installation: each worker would compile all of them for itself, at the same time
collected: $(VENV)/.collected
$(VENV)/.collected: $(VENV)/.ready
	$(BIN)/pytest --collect-only --quiet >$@ || { cat $@; rm $@; exit 1; }

# two processes more than there are cores, since some tests wait: for a page, a process, the end of a limit
WORKERS ?= $(shell echo $$(($$(getconf _NPROCESSORS_ONLN) + 2)))
# and one thread of linear algebra in each: with more they wait for one another
unit unit-all: export OPENBLAS_NUM_THREADS ?= 1

# a worker keeps neighbouring tests, so that what a module sets up is set up once
unit: $(VENV)/.ready
	$(BIN)/pytest -n $(WORKERS) --dist worksteal

unit-all: $(VENV)/.ready
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -m ""

# would the tests notice?  300 small faults drawn by seed, one at a time (an hour or two of one core)
mutants: $(VENV)/.ready
	$(BIN)/python -m tools.mutants --count 300 --seed 0 --jobs $$(nproc) --out build/mutants.txt

docs: $(VENV)/.ready
	$(BIN)/sphinx-build -q -W --keep-going -d build/doctrees docs build/docs

bench: $(VENV)/.ready
	$(BIN)/python -m benchmarks

# beside other programs, in environments of their own under build/league (up to an hour of two cores); PARTS names some
league: $(VENV)/.ready
	$(BIN)/python -m benchmarks.league $(PARTS)

# with the versions that the pages were written with; PAGES names some of them, such as lin1995
PAPERS_VENV ?= .venv-papers
papers: $(PAPERS_VENV)/.ready
	$(PAPERS_VENV)/bin/python -m papers $(PAGES)

$(PAPERS_VENV)/.ready: papers/requirements.txt pyproject.toml setup.py $(wildcard src/minertia/codegen/kernels/native/*)
	$(PYTHON) -m venv $(PAPERS_VENV)
	$(PAPERS_VENV)/bin/python -m pip install --quiet --upgrade pip
	$(PAPERS_VENV)/bin/python -m pip install --quiet --no-compile --requirement papers/requirements.txt --editable .
	touch $@

# the page of the studio, and the templates of pages without a server, into the package (git-ignored); needs Node.js 20 and npm
# not `npm ci`: it refuses a lock file that lists the compiled parts of the bundler for one system alone, as npm writes it
STATIC := src/minertia/studio/static/index.html
studio: $(STATIC)

$(STATIC): studio/package-lock.json studio/index.html studio/vite.config.ts studio/vite.pages.config.ts $(shell find studio/src -type f 2>/dev/null)
	@command -v npm >/dev/null || { echo "make studio needs Node.js 20 or newer with npm; everything else works without"; exit 1; }
	cd studio && npm install --no-save --silent --no-audit --no-fund && npm run --silent build

# the wheel (with the page of the studio, and with the interpreter, where there is a C compiler) and the source distribution, into dist/
wheel: $(VENV)/.ready studio
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(BIN)/python -c "from setuptools.build_meta import build_sdist; build_sdist('dist')"

SOURCES := pyproject.toml setup.py $(wildcard src/minertia/codegen/kernels/native/*)

# the demo needs MuJoCo and the studio's server, a quarter of what the tests need
$(VENV)/.demo: $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[sim,studio]'
	touch $@

# modules are compiled when they are first used, not all of them here: less to wait for and to store
# again where dependencies or the C of the extension module have changed
$(VENV)/.ready: $(SOURCES)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --no-compile --editable '.[$(EXTRAS)]'
	touch $@ $(VENV)/.demo

clean:
	rm -rf $(VENV) $(DEMO_OUT) build dist studio/node_modules src/minertia/studio/static src/minertia/report/static
