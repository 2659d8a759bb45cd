"""Datasets of LeRobot: joints by name from meta/info.json, one episode at a time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from minertia import read_robot
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.readers import column_names, read_recording
from minertia.io.errors import RecordingError
from minertia.robot.robot import Robot

arrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
NAMES = ["elbow.pos", "shoulder.pos"]  # in another order than the robot's
COUNT = 40


def robot() -> Robot:
    from dataclasses import replace

    plain = read_robot("planar2r")
    joints = tuple(replace(j, name=name) for j, name in zip(plain.joints, ("shoulder", "elbow"), strict=True))
    return replace(plain, joints=joints)


def dataset(folder: Path, episodes: int = 3, names: object = NAMES, row_group: int | None = None) -> Path:
    """A dataset of version 3: all episodes in one file, the description two folders above."""
    t = np.tile(np.arange(COUNT) / 30, episodes)
    episode = np.repeat(np.arange(episodes), COUNT)
    state = np.column_stack([10 * episode + t, -t]).astype(np.float32)
    table = arrow.table(
        {
            "action": arrow.FixedSizeListArray.from_arrays(arrow.array((state + 1).ravel()), 2),
            "observation.state": arrow.array(state.tolist(), arrow.list_(arrow.float32())),
            "timestamp": t.astype(np.float32),
            "frame_index": np.tile(np.arange(COUNT), episodes),
            "episode_index": episode,
        }
    )
    path = folder / "data" / "chunk-000" / "file-000.parquet"
    path.parent.mkdir(parents=True)
    parquet.write_table(table, path, row_group_size=row_group)
    features = {key: {"dtype": "float32", "shape": [2], "names": names} for key in ("action", "observation.state")}
    (folder / "meta").mkdir()
    (folder / "meta" / "info.json").write_text(
        json.dumps({"codebase_version": "v3.0", "fps": 30, "features": features})
    )
    return path


@pytest.mark.parametrize("names", [NAMES, {"motors": NAMES}], ids=["list", "dictionary"])
@pytest.mark.parametrize("episode", [0, 2])
def test_an_episode_by_the_names_of_the_joints(tmp_path, names, episode):
    path = dataset(tmp_path, names=names, row_group=25)
    log = read_recording(path, robot(), ColumnMap(episode=episode), effort=False)
    assert len(log) == COUNT
    np.testing.assert_allclose(log.t, np.arange(COUNT) / 30, atol=1e-6)
    np.testing.assert_allclose(log.q[:, 1], 10 * episode + log.t, atol=1e-5)
    np.testing.assert_allclose(log.q[:, 0], -log.t, atol=1e-6)
    assert {"position_elbow", "action_shoulder"} <= set(column_names(path))


def test_degrees(tmp_path):
    log = read_recording(dataset(tmp_path, 1), robot(), ColumnMap(angle="deg"), effort=False)
    np.testing.assert_allclose(log.q[:, 0], -np.radians(log.t), atol=1e-6)


def test_one_episode_need_not_be_named_and_several_must(tmp_path):
    assert len(read_recording(dataset(tmp_path / "one", 1), robot(), effort=False)) == COUNT
    path = dataset(tmp_path / "several", 3)
    with pytest.raises(
        RecordingError, match=r"contains episodes 0, 1, 2 ...; choose one with episode = 0 in \[columns\]"
    ):
        read_recording(path, robot(), effort=False)
    with pytest.raises(RecordingError, match="there is no episode 7; the file contains"):
        read_recording(path, robot(), ColumnMap(episode=7), effort=False)


def test_the_file_beside_a_log_names_the_episode(tmp_path):
    path = dataset(tmp_path)
    (path.parent / "columns.toml").write_text("[columns]\nepisode = 1\n")
    assert read_recording(path, robot(), effort=False).q[0, 1] == pytest.approx(10)


@pytest.mark.parametrize(
    "names", [None, 5, ["one"], ["a", "a"], [1, 2], {"motors": 5}, "ab"], ids=lambda value: json.dumps(value)
)
def test_without_names_they_are_counted(tmp_path, names):
    assert {"position1", "position2", "action1", "action2"} <= set(column_names(dataset(tmp_path, names=names)))


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "[" * 100_000, '{"features": 5}', '{"features": {"action": []}}'])
def test_descriptions_that_are_none(tmp_path, text):
    path = dataset(tmp_path)
    (tmp_path / "meta" / "info.json").write_text(text)
    assert len(column_names(path)) == 7


def test_other_tables_are_read_as_before(tmp_path):
    table = {"t": np.arange(30) / 10, "q1": np.zeros(30), "q2": np.ones(30), "episode_index": np.arange(30)}
    parquet.write_table(arrow.table(table), tmp_path / "a.parquet")
    assert len(read_recording(tmp_path / "a.parquet", robot(), effort=False)) == 30
    with pytest.raises(RecordingError, match="no column 'episode_index'"):
        parquet.write_table(arrow.table({k: v for k, v in table.items() if k[0] != "e"}), tmp_path / "b.parquet")
        read_recording(tmp_path / "b.parquet", robot(), ColumnMap(episode=1), effort=False)


@pytest.mark.parametrize(("angle", "unit"), [("rad", "radians"), ("deg", "degrees")])
def test_the_unit_that_is_taken_for_granted_is_told(tmp_path, angle, unit):
    log = read_recording(dataset(tmp_path), robot(), ColumnMap(episode=0, angle=angle), effort=False)
    assert any(f"assumed to be in {unit}" in note for note in log.notes)
