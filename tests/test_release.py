"""What a release needs beside the code: one version, one place for addresses, workflows and forms that can be read."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from minertia.version import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PLACEHOLDER = ".example"  # a domain that cannot exist (RFC 2606)
yaml = pytest.importorskip("yaml")


def read_yaml(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def test_the_version_is_the_same_everywhere() -> None:
    assert read_yaml(ROOT / "CITATION.cff")["version"] == __version__
    assert f"## [{__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_what_changed_can_be_read_in_a_minute() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split(f"## [{__version__}]")[1].split("\n## ")[0]
    assert 10 <= len(re.findall(r"^- ", text, re.MULTILINE)) <= 25


def test_addresses_of_the_project_are_in_one_place() -> None:
    assert all(PLACEHOLDER in url for url in PROJECT["project"]["urls"].values()), "the addresses are real: test them"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout")
    paths = [ROOT / name for name in listed.stdout.split("\0") if name.endswith((".md", ".cff", ".yml", ".toml"))]
    holders = {path.name for path in paths if path.is_file() and f"minertia{PLACEHOLDER}" in path.read_text("utf-8")}
    assert holders == {"pyproject.toml"}


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_workflows_and_forms_can_be_read(path: Path) -> None:
    document = read_yaml(path)
    for job in document.get("jobs", {}).values():
        assert job["timeout-minutes"] and job["steps"]
    for part in document.get("body", ()):
        assert part["type"] in ("input", "textarea", "dropdown") and part["attributes"]["label"] and part["id"]


def test_wheels_are_built_for_every_platform_and_published_with_pages() -> None:
    jobs = read_yaml(ROOT / ".github" / "workflows" / "wheels.yml")["jobs"]
    systems = {name.partition("-")[0] for name in jobs["wheels"]["strategy"]["matrix"]["os"]}
    assert systems == {"ubuntu", "macos", "windows"}
    assert jobs["wheels"]["needs"] == jobs["sdist"]["needs"] == "pages"
    assert set(jobs["publish"]["needs"]) == {"wheels", "sdist"}


def test_the_paper_cites_what_its_bibliography_holds() -> None:
    text = (ROOT / "paper.md").read_text(encoding="utf-8")
    entries = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"@([a-z]+\d*)\b", text)) == entries
    for heading in ("Summary", "Statement of need", "State of the field", "References"):
        assert f"# {heading}\n" in text
