"""The pages tell the truth: their commands and scripts run in order, their equations and names exist.

Tutorial and how-tos are followed word for word, each in an empty folder.  A block is run (sh, python), written to the
file that its first comment names (toml, c, xml ...), or held against the output so far (text; numbers may differ).
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path

import pytest
from tools import page_words

from minertia.cli import main, root
from minertia.identification.estimators import ESTIMATORS, named_estimator
from minertia.identification.logs import readers
from minertia.robot.effects import BY_SYMBOL, WORDS
from tests import inside
from tests.arm import recorded_arm
from tests.test_house_rules import SPACES, public

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SRC = ROOT / "src"
NAMED = ("tutorial", "coming-from", "loops", "identification", "output-error")
FOLLOWED = [*(DOCS / f"{name}.md" for name in NAMED), *sorted((DOCS / "howto").glob("*.md"))]
# the tutorial walks through every step; these go farther along one of them
FURTHER = (
    *("payload", "coupled-wrist", "currents", "fleet", "other-programs", "python", "run", "urdf", "watch"),
    *("extending", "matlab", "ros2", "sim-to-real", "usd"),
)
LONG = ("identification", *(f"howto/{name}" for name in FURTHER))
WITHOUT_COMMANDS = ("howto/troubleshooting",)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE_NAME = re.compile(r"(?:#|/\*|<!--) ([\w./-]+\.\w+)\b")
EXIT_CODE = re.compile(r"# exit code (\d)")  # a comment that says what the command ends with
NOT_RUN = ("pip",)  # what is installed is what is tested
BUILDERS = ("make", "cc")  # need a C compiler
HAS_COMPILER = all(shutil.which(name) for name in BUILDERS)


def page_id(path: Path) -> str:
    return path.relative_to(DOCS).with_suffix("").as_posix()


@dataclass
class Reader:
    """Somebody who follows a page in a folder."""

    folder: Path
    seen: list[str] = field(default_factory=list)  # lines printed so far, comparable
    skipped_building: bool = False

    def follow(self, page: Path) -> None:
        """Do everything the page says."""
        for language, block in BLOCK.findall(page.read_text(encoding="utf-8")):
            getattr(self, f"do_{language}", self.save)(block)

    def do_sh(self, block: str) -> None:
        for line in block.replace("\\\n", " ").splitlines():
            words, code = line.split("#")[0].split(), EXIT_CODE.search(line)
            if words and words[0] not in NOT_RUN:
                self.command(words, int(code[1]) if code else 0)

    def command(self, words: list[str], code: int) -> None:
        assert words[0] in ("minertia", *BUILDERS, "./main"), f"the test does not know the command {words[0]}"
        if words[0] == "minertia":  # lines as they are, not as a terminal breaks them
            self.read(inside.command(words[1:], self.folder, COLUMNS="1000"), words, code)
        elif HAS_COMPILER:
            self.read(subprocess.run(words, capture_output=True, text=True, cwd=self.folder, timeout=300), words)
        else:
            self.skipped_building = True

    def do_python(self, block: str) -> None:
        if "import mjx" in block:  # takes long to compile: tests/simulation/test_mjx_steps.py follows it
            return
        if "add_effects(" in block:  # before minertia is used: in a process of its own
            line = [sys.executable, "-c", block]
            self.read(subprocess.run(line, capture_output=True, text=True, cwd=self.folder, timeout=300), [block])
            return
        self.read(inside.script(block, self.folder), [block])

    def read(self, done: inside.Done | subprocess.CompletedProcess[str], command: list[str], code: int = 0) -> None:
        assert done.returncode == code, f"{' '.join(command)}: {done.stderr}{done.stdout}"
        self.seen += map(comparable, (done.stdout + done.stderr).splitlines())

    def do_text(self, block: str) -> None:
        for line in map(comparable, block.splitlines()):
            assert line in self.seen or self.skipped_building, f"no command printed: {line}"

    def save(self, block: str) -> None:
        name = FILE_NAME.search("".join(block.splitlines(keepends=True)[:2]))
        assert name, f"which file is this?\n{block}"
        (self.folder / name[1]).write_text(block, encoding="utf-8")


def comparable(line: str) -> str:
    """A line without the digits of its numbers and the width of its gaps."""
    return " ".join(re.sub(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?", "0", line).split())


@pytest.mark.parametrize(
    "page", [pytest.param(p, id=page_id(p), marks=pytest.mark.slow if page_id(p) in LONG else ()) for p in FOLLOWED]
)
def test_pages_can_be_followed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])  # a page may add modules and formats of its own
    monkeypatch.setattr(readers, "FORMATS", dict(readers.FORMATS))
    for name in re.findall(r"^(?:import|from) (pinocchio|mujoco|pxr)", page.read_text(encoding="utf-8"), re.MULTILINE):
        pytest.importorskip(name)
    if page_id(page) == "identification":  # its files are the reader's own
        recorded_arm(tmp_path)
        for k, name in enumerate(("a", "b", "c", "c")):
            shutil.copy(tmp_path / f"{name}.csv", tmp_path / f"run{k + 1}.csv")
        shutil.copy(tmp_path / "arm.urdf", tmp_path / "other.urdf")
        logs = '[logs]\ntrain = ["run1.csv", "run2.csv"]\nvalidate = ["run3.csv"]\n'
        (tmp_path / "campaign.toml").write_text(f'format = 1\nrobot = "arm.urdf"\n{logs}', encoding="utf-8")
    reader = Reader(tmp_path)
    reader.follow(page)
    assert reader.seen or page_id(page) in WITHOUT_COMMANDS
    if page_id(page) == "howto/sim-to-real":  # of real.xml, which the page says lies within the deviations
        found = {p["name"]: p for p in tomllib.loads((tmp_path / "result/model.toml").read_text())["parameters"]}
        truth = {"IA1": 0.02, "IA2": 0.01, "FC1": 0.3, "FC2": 0.15, "KP1": 60.0, "KP2": 30.0}
        for name, value in {**truth, "KD1+FV1": 2.5, "KD2+FV2": 1.2}.items():
            assert abs(found[name]["value"] - value) < 2.5 * found[name]["deviation"], name


def test_a_page_that_lies_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\nminertia --version\n```\n```text\nminertia 9.9.9rc9\n```\n", encoding="utf-8")
    Reader(tmp_path).follow(page)
    for wrong in ("```text\nmaxertia 0.1.0\n```\n", "```sh\nminertia show nobody\n```\n", "```toml\na = 1\n```\n"):
        page.write_text(wrong, encoding="utf-8")
        with pytest.raises(AssertionError):
            Reader(tmp_path).follow(page)


# ------------------------------------------------------------------- equations


def theory_numbers() -> list[int]:
    return [int(n) for n in re.findall(r"\\tag\{(\d+)\}", (DOCS / "theory.md").read_text(encoding="utf-8"))]


def test_equations_are_numbered_in_order() -> None:
    assert theory_numbers() == list(range(1, len(theory_numbers()) + 1))


def cited(text: str) -> set[int]:
    """Numbers of equations that a text cites as 'theory, eq. 5' or 'theory, eqs. 6 to 9'."""
    found = set()
    for first, last in re.findall(r"theory, eqs?\. \(?(\d+)\)?(?: (?:to|and) \(?(\d+)\)?)?", text):
        found |= {int(first), int(last or first)}
    return found


def test_cited_equations_exist() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in SRC.rglob("*.py")}
    numbers = {path: cited(text) for path, text in sources.items()}
    assert sum(map(bool, numbers.values())) >= 8
    for path, found in numbers.items():
        assert found <= set(theory_numbers()), f"{path.relative_to(ROOT)} cites {sorted(found)}"
        unreadable = re.search(r"theory(\.md)?,? (?!eqs?\. \d)\(?eq", sources[path])
        assert not unreadable, f"{path.relative_to(ROOT)}: cite as 'theory, eq. 5'"


def test_modules_named_by_the_theory_exist() -> None:
    names = re.findall(r"`((?:robot|dynamics|base|identification)\.[\w.]+)`", (DOCS / "theory.md").read_text())
    assert len(names) >= 5
    for name in names:
        parts = name.split(".")
        homes = [SRC / "minertia" / Path(*parts[:k]).with_suffix(".py") for k in range(1, len(parts) + 1)]
        assert any(home.is_file() for home in homes), name


# --------------------------------------------------------------------- formats

FORMATS = (DOCS / "formats.md").read_text(encoding="utf-8")
JSON_EXAMPLES = {  # row of the table -> a command whose JSON has these keys
    "robots": "robots",
    "show ROBOT": "show arm.urdf",
    "check ROBOT": "check arm.urdf",
    "check LOG": "check a.csv --robot arm.urdf",
    "convert": "convert arm.urdf arm.toml",
    "identify": "identify arm.urdf a.csv --validate b.csv --out result",
    "validate": "validate result/model.toml c.csv",
    "sample": "sample result --n 100 --out drawn",
    "validate SAMPLES": "validate drawn c.csv --band 0.9",
    "compare": "compare result result/model.toml",
    "payload": "payload result/model.toml loaded.csv",
    "payload --mass": "payload a.csv loaded.csv --robot arm.urdf --mass 0.75",
    "watch": "watch result/model.toml a.csv --normal b.csv c.csv",
    "significance": "significance arm.urdf a.csv",
    "excite": "excite arm.urdf --duration 4 --harmonics 3 --starts 1 --samples 60 --limits acceleration=20",
    "run": "run arm.urdf excitation --speeds 100",
    "excite --sweeps": "excite arm.urdf --sweeps --limits acceleration=20",
    "generate": "generate result/model.toml --out code --programs gravity",
    "count": "count arm.urdf --programs gravity",
    "doctor": "doctor",
}


def json_table() -> dict[str, set[str]]:
    """{command: keys} of the table of the page."""
    part = FORMATS[FORMATS.index("| command | keys |") :].split("\n\n")[0]
    rows = [line.strip("|").split(" | ") for line in part.splitlines()[2:]]
    return {name: set(re.findall(r"`(\w+)`", keys)) for names, keys in rows for name in re.findall(r"`([^`]+)`", names)}


@pytest.mark.slow
def test_json_is_as_the_page_says(tmp_path: Path, monkeypatch, capsys) -> None:
    listed = json_table()
    # these take long, or files of their own; their own tests read the JSON
    assert set(listed) == {*JSON_EXAMPLES, "rehearse", "demo", "calibrate", "wrench", "score", "servo"}
    recorded_arm(tmp_path)
    monkeypatch.chdir(tmp_path)
    for row, command in JSON_EXAMPLES.items():
        assert main([*command.split(), "--json"]) == 0, command
        assert set(json.loads(capsys.readouterr().out)) == listed[row] | {"format"}, command


def test_every_command_is_on_the_page() -> None:
    commands = {command.__name__ for command in root.COMMANDS}
    assert commands - {"base", "studio"} == {name.split()[0] for name in json_table()}


def test_every_effect_of_a_campaign_is_on_its_page() -> None:
    text = (DOCS / "campaign.md").read_text(encoding="utf-8")
    for word, symbols in WORDS.items():
        row = next((line for line in text.splitlines() if line.startswith(f"| `{word}`")), "")
        assert all(f"`{option}`" in row for s in symbols for option in BY_SYMBOL[s].constants), word
        assert row, word


INTERNAL = {"prior", "fixed", "heaviest", "likely"}  # keys of [model], handed on; a limit of exports


def test_every_estimator_and_option_is_on_the_page() -> None:
    rows = [line for line in (DOCS / "campaign.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for name in ESTIMATORS:
        row = next((line for line in rows if f"`{name}`" in line.split(" | ")[0]), "")
        options = {option.name for option in fields(type(named_estimator(name))) if option.init}
        assert row and options - INTERNAL <= set(re.findall(r"`(\w+)`", row)), name


def test_tables_of_a_model_are_on_the_page(tmp_path: Path, monkeypatch) -> None:
    recorded_arm(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["identify", "arm.urdf", "a.csv", "--out", "result"]) == 0
    saved = tomllib.loads((tmp_path / "result" / "model.toml").read_text(encoding="utf-8"))
    part = FORMATS[FORMATS.index("| key or table | holds |") :].split("\n\n")[0]
    assert set(saved) == set(
        re.findall(r"`\[*(\w+)\]*`", "".join(line.split(" | ")[0] for line in part.splitlines()[2:]))
    )


# ------------------------------------------------------------------- reference


def test_the_reference_has_every_public_name() -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^\.\. (?:auto\w+|py:data):: ([\w.]+)$", text, re.MULTILINE))
    names = {f"minertia.{space}.{name}" if space else name for space in SPACES for name in public(space)}
    twice = {"minertia.dynamics.inverse_dynamics", "minertia.dynamics.forward_dynamics"}  # at the top, too
    assert shown == names - twice - set(SPACES) | {"__version__"}


HOME_MADE = ("stretches left out", "links ask for", "pinned", "residuals forget")  # words that were ours alone


def test_words_are_those_of_the_glossary() -> None:
    """The terms of the field that messages use are explained, and words that nobody else has do not come back."""
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    terms = {cell.strip() for row in re.findall(r"^\| ([^|]+) \|", text, re.MULTILINE) for cell in row.split(",")}
    for word in ("rigid-body torque", "fold", "autocorrelation time", "fixed parameter", "base parameter", "deviation"):
        assert word in terms, word
    for path in (*(SRC / "minertia" / "identification").rglob("*.py"), *(SRC / "minertia" / "report").rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        assert not [word for word in HOME_MADE if word in source], path.relative_to(ROOT)


def test_every_page_is_in_the_contents() -> None:
    listed = set(re.findall(r"^([\w/-]+)$", (DOCS / "index.md").read_text(encoding="utf-8"), re.MULTILINE))
    pages = {page_id(p) for p in DOCS.rglob("*.md") if p.parent.name not in ("images", "papers")}
    assert pages - {"index"} <= listed


# ------------------------------------------------------------------------ pages


@pytest.mark.parametrize("page", page_words.pages(), ids=page_id)
def test_a_page_says_what_it_is_and_for_whom(page: Path) -> None:
    assert page_words.kind(page), "its first line must read: *How-to.* For ... (or Tutorial, Reference, Explanation)"


def test_the_pages_can_be_read() -> None:
    assert page_words.total() <= page_words.BOUND, "python -m tools.page_words says where the words are"


def test_messages_of_the_page_on_troubleshooting_exist() -> None:
    sources = " ".join(path.read_text(encoding="utf-8") for path in SRC.rglob("*.py"))
    sources = re.sub(r'"\s*\n\s*f?"', "", sources).replace('\\"', '"').replace("\\'", "'")
    messages = re.findall(r"^\| `([^`]+)` \|", (DOCS / "howto" / "troubleshooting.md").read_text(), re.MULTILINE)
    assert len(messages) > 40
    assert not [message for message in messages if message not in sources]
