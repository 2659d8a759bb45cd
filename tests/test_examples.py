"""Every example and every Python block of the README runs as it stands."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from tests import inside, notebooks
from tests.arm import recorded_arm

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
README = (ROOT / "README.md").read_text(encoding="utf-8")


# the tutorial, which test_docs.py follows, walks the same way as these, the campaign of the README and the notebook
LONG = ("04_exciting_motion", "05_identify")


@pytest.mark.parametrize(
    "path", [pytest.param(p, id=p.stem, marks=pytest.mark.slow if p.stem in LONG else ()) for p in EXAMPLES]
)
def test_example(path: Path, tmp_path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 60
    assert inside.script(text, tmp_path).stdout


def test_examples_are_there() -> None:
    assert EXAMPLES and NOTEBOOKS


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every cell runs, and what it ends with can be shown; outputs are not kept in the file."""
    document = json.loads(path.read_text(encoding="utf-8"))
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in document["cells"])
    shutil.copy(path.parent / "arm.toml", tmp_path)
    monkeypatch.chdir(tmp_path)
    shown = [notebooks.shown(value) for _, value in notebooks.run(path) if value is not None]
    assert len(shown) == sum(kind == "code" for kind, _ in notebooks.cells(path))  # each cell shows something
    assert sum("<img" in text for text in shown) >= 4 and sum("<table" in text for text in shown) >= 4
    assert sum(text.startswith("$$") for text in shown) == 1


BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("block", [block for block in BLOCKS if "Campaign(" not in block])
def test_readme(block: str, tmp_path: Path) -> None:
    assert inside.script(block, tmp_path).stdout


def test_the_campaign_of_the_readme_is_short_and_good(tmp_path: Path) -> None:
    campaign = next(block for block in BLOCKS if "Campaign(" in block)
    assert sum(bool(line) for line in campaign.splitlines()) <= 15
    done = inside.script(campaign, tmp_path)
    assert "\ngood:\n" in done.stdout, done.stderr
    assert (tmp_path / "model.toml").is_file() and list((tmp_path / "code").glob("*.c"))


COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]


def files_of_the_readme(folder: Path) -> Path:
    """The folder with the files that the commands about logs name."""
    recorded_arm(folder)
    for k, name in enumerate("abc"):
        (folder / f"{name}.csv").rename(folder / f"run{k + 1}.csv")
    assert inside.command(["identify", "arm.urdf", "run1.csv", "--out", "result"], folder).returncode == 0
    shutil.copytree(folder / "result", folder / "other")
    shutil.copy(folder / "run3.csv", folder / "day.csv")
    return folder


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return files_of_the_readme(tmp_path_factory.mktemp("logs"))


def tried(line: str) -> object:
    """These take long, and tests/simulation/test_rehearsal.py, test_cli.py and test_cli_excite.py run them."""
    long = ("minertia rehearse", "minertia robots", "minertia excite puma560_physical --limits")
    return pytest.param(line, marks=pytest.mark.slow if line.startswith(long) else ())


# need what pages of their own make, which test_docs.py follows, or serve until they are stopped (tests/studio)
ELSEWHERE = ("minertia fleet", "minertia run ", "minertia studio")
README_LINES = [c for c in COMMANDS if c.startswith("minertia ") and not ("path/to" in c or c.startswith(ELSEWHERE))]


@pytest.mark.parametrize("line", [tried(line) for line in README_LINES])
def test_readme_commands(line: str, tmp_path: Path, logs: Path) -> None:
    arguments = line.split("#")[0].split()[1:]
    shutil.copytree(logs, tmp_path, dirs_exist_ok=True)
    done = inside.command(arguments, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout or arguments[0] == "convert"


def test_the_robot_of_the_formats_page(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    path = tmp_path / "example.toml"
    for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL):
        path.write_text(block, encoding="utf-8")
        assert "certificate" in inside.command(["base", str(path), "--rotors", "--friction"], tmp_path).stdout
    assert path.exists()


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))])
def test_links_between_pages(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} -> {target}"
