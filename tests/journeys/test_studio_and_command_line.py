"""From the studio to the command line and back: one campaign file, the same numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from minertia.cli import main
from tests.arm import recorded_arm
from tests.studio.running import client, done, running, uploaded

BY_HAND = """
# the gripper was changed on Tuesday: logs from then on are another robot's
"""


def identified(campaign: Path, out: Path) -> dict[str, Any]:
    """What the command line makes of a campaign."""
    assert main(["identify", "--campaign", str(campaign), "--out", str(out)]) == 0
    return dict(json.loads((out / "result.json").read_text()))


def numbers(result: dict[str, Any]) -> dict[str, Any]:
    """Every value with its deviation, every residual, and the verdict."""
    values = {p["name"]: (p["value"], p["deviation"]) for p in result["parameters"]}
    residuals = [result["training"]["relative"], *(one["relative"] for one in result["validation"])]
    return {"values": values, "residuals": residuals, "good": result["verdict"]["good"]}


def same_numbers(one: dict[str, Any], other: dict[str, Any]) -> None:
    a, b = numbers(one), numbers(other)
    assert a["values"].keys() == b["values"].keys() and a["values"]
    for name, (value, deviation) in a["values"].items():
        assert b["values"][name] == (pytest.approx(value, rel=1e-9), pytest.approx(deviation, rel=1e-6)), name
    assert a["residuals"] == pytest.approx(b["residuals"], rel=1e-9)
    assert a["good"] == b["good"]


def studio_result(c: Any, folder: Path) -> dict[str, Any]:
    """What the studio makes of the campaign in its folder."""
    for kind in ("check", "identify"):
        job = done(c, kind)
        assert job["state"] == "done", job
    return dict(json.loads((folder / "runs" / job["name"] / "result.json").read_text()))


def test_a_campaign_of_the_studio_gives_the_same_numbers_by_the_command_line(tmp_path):
    """Dropped files, a proposal from the headers, the answers of the page; then a hand at the file, and back."""
    arm, folder = recorded_arm(tmp_path), tmp_path / "project"
    campaign = folder / "campaign.toml"
    with running(folder) as at, client(at) as c:
        robot = uploaded(c, "robot", arm / "arm.urdf").json()
        c.put("/api/robot", json={"file": robot["key"]}).raise_for_status()
        for name in ("a.csv", "b.csv"):
            uploaded(c, "log", arm / name).raise_for_status()
        c.post("/api/campaign/of", json={"job": done(c, "propose")["name"]}).raise_for_status()
        logs = {file["title"]: file["key"] for file in c.get("/api/project").json()["files"] if file["kind"] == "log"}
        asked = {"train": [logs["a.csv"]], "validate": [logs["b.csv"]], "columns": {"effort_unit": "Nm"}}
        asked |= {"model": {"effects": ["viscous", "coulomb"]}, "filter": {"cutoff_hz": 12}}
        c.put("/api/campaign", json=asked).raise_for_status()
        by_studio = studio_result(c, folder)
        same_numbers(by_studio, identified(campaign, tmp_path / "first"))

        # by hand: an effect with numbers, a value that is known, a remark
        text = campaign.read_text()
        assert '"coulomb"' in text
        edited = text.replace('"coulomb"', '{ kind = "smooth_coulomb", width = 0.05 }')
        fixed = next(name for name in numbers(by_studio)["values"] if name.startswith("FV"))
        campaign.write_text(
            edited.replace("[estimator]", f"fix.{fixed} = 0.6  # from its data sheet\n[estimator]") + BY_HAND
        )
        before = campaign.read_bytes()
        shown = c.get("/api/project").json()["campaign"]
        for table in ("columns", "drive", "filter", "model"):  # the page says again what it shows
            said = {key: value for key, value in shown.get(table, {}).items() if key != "fix"}
            c.put("/api/campaign", json={table: said}).raise_for_status()
        c.put("/api/campaign", json={"train": shown["logs"]["train"]}).raise_for_status()
        assert campaign.read_bytes() == before
        c.put("/api/campaign", json={"filter": {"cutoff_hz": 10}}).raise_for_status()
        assert campaign.read_text() == before.decode().replace("cutoff_hz = 12", "cutoff_hz = 10", 1)
        again = studio_result(c, folder)
        assert any(name.startswith("FCT") for name in numbers(again)["values"])
        same_numbers(again, identified(campaign, tmp_path / "second"))
    assert campaign.read_text().count("the gripper was changed on Tuesday") == 1


def test_a_result_of_the_command_line_is_a_model_of_the_studio(tmp_path):
    """Found with the name of its robot, and code is made of it."""
    arm = recorded_arm(tmp_path)
    text = 'format = 1\nrobot = "arm.urdf"\n[logs]\ntrain = ["a.csv"]\n[columns]\neffort_unit = "Nm"\n'
    (arm / "campaign.toml").write_text(text + '[model]\neffects = ["viscous"]\n')
    identified(arm / "campaign.toml", arm / "result")
    with running(arm) as at, client(at) as c:
        files = c.get("/api/project").json()["files"]
        model = next(file for file in files if file["title"] == "result/model.toml")
        assert model["robot"] == "arm"
        made = done(c, "generate", model=model["key"], target="numpy", programs=["gravity"])
        assert made["state"] == "done", made
        content = (arm / "result" / "model.toml").read_bytes()
        (arm / "result" / "model.toml").write_bytes(content + b"# a thought\n")
        assert c.get(f"/api/jobs/{made['name']}").json()["stale"] == ["computed before result/model.toml changed"]
