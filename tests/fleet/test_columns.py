"""The superset of columns: the shapes of the one table, zero where an effort sees nothing, named by what decides it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from minertia.base import numeric
from minertia.fleet.columns import FLEET, column_set, kinematics_text, own_columns
from minertia.fleet.robot_type import RobotType
from minertia.identification.logs.options import ColumnMap
from minertia.identification.problem.linear import linear_model
from minertia.identification.signals.options import Filter
from minertia.io.errors import MinertiaError
from minertia.robot.files import read_robot

IN_TABLE = ("FV", "FC", "OFF", "FS", "FCL", "FCK", "KS")


def states(n: int, count: int = 60) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(4)
    q, qd, qdd, tau = rng.normal(size=(4, count, n))
    return q, qd * 10 ** rng.uniform(-2, 0, (count, 1)), qdd, tau


@pytest.mark.parametrize("name", ["emps", "stanford"])
def test_columns_are_those_of_the_linear_problem(name: str) -> None:
    robot = read_robot(name, letters=False)
    columns = column_set(robot, rest=0.0)
    q, (_, qd, qdd, tau) = np.asarray(numeric.random_states(robot, 60, 4)[0]), states(robot.n)
    warmth = 20.0 + 10 * np.abs(q)
    rows, _ = columns.rows((q, qd, qdd), tau, warmth)
    model = linear_model(robot, ("IA", *IN_TABLE))
    rigid = linear_model(robot, ("IA",))
    load = rigid.columns(q, qd, qdd) @ rigid.nominal()
    Y = model.columns(q, qd, qdd, load, temperature=warmth)
    names = [*(n for n in columns.layout.names if n not in rigid.names), *rigid.names]
    assert list(columns.layout.names) == names
    for i, (own, seen) in enumerate(zip(rows, columns.layout.seen, strict=True)):
        np.testing.assert_array_equal(own[:, -1], tau[:, i])
        shown = [columns.layout.names[k] for k in seen]
        for k, unknown in enumerate(model.names):
            wanted = own[:, shown.index(unknown)] if unknown in shown else 0.0
            np.testing.assert_allclose(Y[:, i, k], wanted, rtol=1e-9, atol=1e-9, err_msg=unknown)


def test_what_the_table_does_not_have() -> None:
    robot = read_robot("planar2r", letters=False)
    columns = column_set(robot, rest=0.0, temperature=30.0)
    q, qd, qdd, tau = states(2)
    warmth = 30.0 + q
    own = columns.rows((q, qd, qdd), tau, warmth)[0][1]
    shown = [columns.layout.names[k] for k in columns.layout.seen[1]]
    v, th = qd[:, 1], q[:, 1]
    for name, wanted in {"FVA2": abs(v), "FVQ2": v * abs(v), "FVK2": th * v, "FVKK2": th**2 * v}.items():
        np.testing.assert_allclose(own[:, shown.index(name)], wanted, rtol=1e-12, atol=1e-15)
    cold = columns.rows((q, qd, qdd), tau, None)[0][1]
    assert all(not cold[:, shown.index(f"{symbol}2")].any() for symbol in ("FVK", "FCK", "FVKK"))


def test_a_joint_that_stands_says_nothing() -> None:
    robot = read_robot("planar2r", letters=False)
    q, qd, qdd, tau = states(2)
    qd[:20, 0], qd[20:, 0], qd[:, 1] = 1e-4, 1.0, 1.0
    (first, second), moves = column_set(robot).rows((q, qd, qdd), tau, None)
    assert moves.sum(axis=0).tolist() == [40, 60]
    assert not first[:20].any() and first[20:].any(axis=1).all() and second.any(axis=1).all()


def test_without_inertial_values_load_says_nothing() -> None:
    robot = read_robot("planar2r", letters=False)
    q, qd, qdd, tau = states(2)
    columns = column_set(robot)
    shown = [columns.layout.names[k] for k in columns.layout.seen[0]]
    assert not columns.rows((q, qd, qdd), tau, None)[0][0][:, shown.index("FCL1")].any()


def test_every_effect_of_the_list_has_its_columns() -> None:
    found = own_columns()
    assert [c.symbol for c in found if c.symbol != "FS"] == [s for s in FLEET if s != "FS"]
    assert [c.tag for c in found if c.symbol == "FS"] == ["@0.01", "@0.02", "@0.04", "@0.08", "@0.15", "@0.3"]


def test_a_floating_base_is_refused() -> None:
    with pytest.raises(MinertiaError, match="floating base"):
        column_set(read_robot("planar2r", base="floating", letters=False))


# ---------------------------------------------------------------------- hashes


def kind(**changes: object) -> RobotType:
    robot = read_robot("planar2r", letters=False)
    given = {"robot": robot, "columns": ColumnMap(), "filter": Filter(cutoff_hz=5.0)} | changes
    return RobotType("kind", **given)  # type: ignore[arg-type]


def test_whatever_decides_a_record_changes_its_key() -> None:
    robot = read_robot("planar2r", letters=False)
    joint = replace(robot, gravity=(0.0, 0.0, -9.0))
    heavier = robot.with_parameters(dict.fromkeys(robot.columns(), 1.0))
    others = {
        "gravity": kind(robot=joint),
        "reference": kind(reference=heavier),
        "filter": kind(filter=Filter(cutoff_hz=5.0, order=3)),
        "rate": kind(filter=Filter(cutoff_hz=5.0, rate_hz=20.0)),
        "units": kind(columns=ColumnMap(angle="deg")),
        "temperature": kind(temperature=30.0),
        "rest": kind(rest=0.01),
        "zone": kind(zone="Asia/Tokyo"),
    }
    keys = {name: own.key() for name, own in others.items()} | {"as it is": kind().key()}
    keys["triangles"] = kind().key("triangles")
    assert len(set(keys.values())) == len(keys)
    assert kind().key() == kind().key()
    assert kind(filter=Filter(cutoff_hz=5.0, rate_hz=25.0)).key() == kind().key()  # the usual one, stated
    assert kind(robot=heavier).hashes["kinematics"] == kind().hashes["kinematics"]


def test_kinematics_have_no_parameters() -> None:
    robot = read_robot("puma560_physical", letters=False)
    assert kinematics_text(robot) == kinematics_text(robot.with_payload(2.0, com=(0.0, 0.0, 0.1)))
    assert kinematics_text(robot) != kinematics_text(robot.with_gravity((0.0, 0.0, 9.0)))


def test_a_filter_without_a_cutoff_is_refused() -> None:
    with pytest.raises(MinertiaError, match="cutoff_hz"):
        kind(filter=Filter())
    with pytest.raises(MinertiaError, match="torque"):
        kind(filter=Filter(cutoff_hz=5.0, equations="power"))
    with pytest.raises(MinertiaError, match="time zone 'Atlantis'"):
        kind(zone="Atlantis")
