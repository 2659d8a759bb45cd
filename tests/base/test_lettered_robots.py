"""Base parameters in letters: lengths and angles without numbers, and relations that hold whatever their values."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from minertia.base.derive import METHODS, base_parameters
from minertia.base.grouping import matrix_of
from minertia.base.numeric import Sample, random_states
from minertia.codegen.generate import count_programs, generate
from minertia.dynamics.model import torque_regressor
from minertia.excitation.excite import excite
from minertia.excitation.sweep import sweeps
from minertia.identification.identify import identify
from minertia.io.errors import InputError
from minertia.io.resources import one_thread
from minertia.report.tables import certificate_sentences
from minertia.robot.files import read_robot
from minertia.robot.formats.dh.read import parse_toml
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.formats.symoro.read import parse_par
from tests.base.derived import Derived
from tests.lettered_robots import lettered_robot

FUNCTIONS = {"cos": math.cos, "sin": math.sin, "tan": math.tan}
RPR = """NL = 3
ant = {0,1,2}
sigma = {0,1,0}
alpha = {0,ALF2,0}
d = {0,D2,D3}
theta = {th1,TH2,th3}
r = {0,r2,0}
"""


def make(seed):
    return lettered_robot(seed, tree=seed % 3 == 1, floating=seed % 13 == 5, mimic=seed % 11 == 3)


def redrawn_values(robot, seed):
    rng = np.random.default_rng((5, seed))
    return {name: float(rng.uniform(0.15, 1.35) * rng.choice((-1, 1))) for name in robot.symbols}


class Drawn:
    """A robot at some values of its letters: what holds there of sets of base parameters."""

    def __init__(self, robot, columns, values, seed):
        self.values, self.seed, there = values, seed, robot.at(values)
        state = random_states(there, 8, seed)
        self.Y = np.asarray(torque_regressor(there, *state, columns=columns)).reshape(-1, len(columns))
        self.sample = Sample.of(there, columns, 60, seed)

    def off(self, found):
        """How far torques from the relations at these values are from those of all parameters."""
        K = matrix_of(found.relations, found.columns, self.values)
        Y_base = self.Y[:, found.kept_indices] @ np.linalg.inv(K[:, found.kept_indices])
        chi = np.random.default_rng(self.seed).normal(size=len(found.columns))
        longest = max(np.abs(self.Y).max(initial=0.0), 1e-300)
        return np.abs(Y_base @ (K @ chi) - self.Y @ chi).max(initial=0.0) / longest

    def rank(self, found):
        return self.sample.rank_and_gap(found.kept_indices)[0]


def hold(seed):
    """Everything that must be true of one robot; whether its relations are in letters throughout."""
    robot, rotors = make(seed), seed % 2 == 1
    derived = Derived(robot, rotors=rotors)
    with one_thread():
        sets = [derived.by(method) for method in METHODS]
        closed = sets[0]
        assert [found.method for found in sets] == ["closed-form", "mlc", "numeric"], seed
        assert {found.count for found in sets} == {closed.certificate.rank}, seed
        assert max(found.certificate.error for found in sets) < 1e-9, seed
        lettered = [found for found in sets if is_in_letters(found, seed)]
        for draw in range(2) if lettered else ():
            drawn = Drawn(robot, closed.columns, redrawn_values(robot, 10 * seed + draw), seed)
            for found in lettered:
                assert drawn.off(found) < 1e-8, (seed, found.method)
                assert drawn.rank(found) == found.count, (seed, found.method)
    return bool(robot.symbols) and not any(closed.is_numeric)


def is_in_letters(found, seed):
    """Whether a set has no number of a drawn letter, and as many relations as other values of the letters ask for."""
    letters = {name for d in found.divisors for name in d.letters}
    assert letters <= set(found.robot.symbols), seed
    redrawn = found.certificate.redrawn
    if any(found.is_numeric) or redrawn is None:
        return False
    assert redrawn.error < 1e-9, seed
    return redrawn.rank == found.count  # its own numbers may be special


def test_relations_hold_at_any_values_of_the_letters():
    in_letters = [hold(seed) for seed in range(20)]
    assert sum(in_letters) > 10


@pytest.mark.parametrize("method", METHODS)
def test_sets_of_one_derivation_are_those_of_each_method_alone(method):
    """One derivation that is asked for several sets gives what `base_parameters` gives."""
    robot = make(7)
    derived = Derived(robot, rotors=True)
    shared = [derived.by(other) for other in METHODS][METHODS.index(method)]
    alone = base_parameters(robot, method, rotors=True)
    assert shared.relation_texts() == alone.relation_texts() and shared.certificate == alone.certificate


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 4100, 100))
def test_relations_hold_at_any_values_of_the_letters_of_many_robots(start):
    assert sum(hold(seed) for seed in range(start, start + 100)) > 50


def test_unmarked_relations_hold_no_number_of_a_drawn_letter():
    """Printed relations that are not marked numeric, read as text, agree with K at the values used."""
    for seed in range(100, 120):
        robot = make(seed)
        found = base_parameters(robot)
        for row, (text, is_numeric) in enumerate(zip(found.relation_texts().values(), found.is_numeric, strict=True)):
            if is_numeric:
                continue
            values = redrawn_values(robot, seed)
            chi = dict(zip(found.columns, np.random.default_rng(seed).normal(size=len(found.columns)), strict=True))
            there = matrix_of(found.relations, found.columns, values)[row] @ np.array(list(chi.values()))
            written = eval(text, dict(FUNCTIONS), values | chi)
            assert written == pytest.approx(there, rel=1e-9, abs=1e-9), (seed, text)


def rpr(**options):
    return parse_par(RPR, "rpr.par", ReadOptions(**options))


@pytest.mark.parametrize("letters", [True, False])
def test_what_the_rules_divide_stays_in_letters(letters):
    found = base_parameters(rpr(letters=letters))
    relations = found.relation_texts()
    assert relations["MXR2"] == "MX2 - sin(TH2)*tan(ALF2)*(MZ2 + MZ3) + D3*M3"
    assert relations["MYR2"] == "MY2 - cos(TH2)*tan(ALF2)*(MZ2 + MZ3)"
    assert not any(found.is_numeric)
    assert "valid where cos(ALF2) is not 0" in str(found)
    assert r"\cos(\mathit{ALF}_{2}) &\neq 0" in found.to_latex() and r"\tan(\mathit{ALF}_{2})" in found.to_latex()
    assert found.to_dict()["divisors"] == ["cos(ALF2)"]
    redrawn = found.certificate.redrawn
    assert redrawn is not None and set(redrawn.values) == {"ALF2", "TH2", "D2", "D3"}
    assert redrawn.rank == redrawn.count == found.count == 11
    assert not {redrawn.values[name] for name in redrawn.values} & set(found.robot.symbol_values.values())


def test_combinations_are_in_letters_too():
    relations = base_parameters(rpr(), "mlc").relation_texts()
    assert relations["KB_2"] == "-cos(TH2)*sin(ALF2)*MX2 + sin(ALF2)*sin(TH2)*MY2 - D3*cos(TH2)*sin(ALF2)*M3"


def test_numbers_of_drawn_letters_are_marked_and_said():
    found = base_parameters(rpr(), "numeric")
    marked = dict(zip(found.names, found.is_numeric, strict=True))
    assert marked["MXR2"] and marked["ZZR1"] and not marked["MR2"] and not marked["XXR3"]
    assert f"only for the values drawn: ALF2 = {found.robot.symbol_values['ALF2']:.15g}" in str(found)


def test_whole_numbers_of_letters_are_not_taken_for_structure():
    """A length of 1 m is a letter like any other: what it multiplies by one is not the same for all robots."""
    found = base_parameters(parse_par(RPR.replace("D3", "1"), "rpr.par", ReadOptions()), "numeric")
    assert dict(found.robot.symbols)["d3"] == 1
    assert dict(zip(found.names, found.is_numeric, strict=True))["MXR2"]
    two = parse_toml('[[joint]]\nkind = "revolute"\n[[joint]]\nkind = "revolute"\nd = 1\n', "x.toml", ReadOptions())
    found = base_parameters(two, "numeric", gravity=(0, -9.81, 0))
    relations = dict(zip(found.names, zip(found.relation_texts().values(), found.is_numeric, strict=True), strict=True))
    assert relations["MXR1"] == ("MX1 + M2", True)
    assert relations["MX2"] == ("MX2", False)


def test_a_divisor_does_not_vanish_at_the_robots_own_values():
    """A slide at a right angle to r1 by value only: another component divides."""
    robot = rpr()
    robot = replace(robot, symbols={**robot.symbols, "ALF2": math.pi / 2, "TH2": 0.4})
    found = base_parameters(robot)
    assert set(found.to_dict()["divisors"]) == {"sin(ALF2)", "cos(TH2)"}
    assert "MYR2" not in found.names and found.certificate.error < 1e-12


def test_special_values_of_letters_are_completed_and_said():
    """Two letters that happen to be the same length: the axis stands over the first one, at these values only."""
    text = """[symbols]
A = 0.3
B = -0.3
[[joint]]
kind = "revolute"
[[joint]]
kind = "prismatic"
d = "A"
[[joint]]
kind = "revolute"
d = "B"
[[joint]]
kind = "revolute"
alpha_deg = 90
"""
    special = base_parameters(parse_toml(text, "x.toml", ReadOptions()))
    general = base_parameters(parse_toml(text.replace("-0.3", "-0.4"), "x.toml", ReadOptions()))
    assert special.count == special.certificate.rank < general.count == special.certificate.redrawn.rank
    assert any("own numbers are special" in sentence for sentence in certificate_sentences(special))


def test_chosen_columns_are_exchanged_in_letters():
    found = base_parameters(rpr(), keep=("MZ2",))
    assert found.relation_texts()["MZR2"] == "MZ2 + MZ3 - cos(ALF2)/(cos(TH2)*sin(ALF2))*MY2"
    assert not any(found.is_numeric) and found.certificate.redrawn.error < 1e-12


def test_nothing_that_needs_numbers_takes_drawn_ones(tmp_path):
    robot = read_robot("cmu_dd_arm2")
    for ask in (
        lambda: generate(robot, tmp_path / "code"),
        lambda: excite(robot),
        lambda: sweeps(robot),
        lambda: identify(robot, "run.csv"),
    ):
        with pytest.raises(InputError, match=r"symbols without a value \(A1, A2\)"):
            ask()
    assert not (tmp_path / "code").exists()
    assert count_programs(robot, ("gravity",)).counts["gravity"]
