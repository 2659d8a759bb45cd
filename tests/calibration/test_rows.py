"""Derivatives of every kind of measurement against differences, and of the chain itself."""

import numpy as np
import pytest

from minertia.identification.geometry.base import exact_readings
from minertia.identification.geometry.chain import chain_of, exponential, logarithm, moved, rotation_vector
from minertia.identification.geometry.layout import GeometryLayout, GeometryState, Postures
from minertia.identification.geometry.measures import KINDS
from minertia.robot.files import read_robot

STEP = 1e-6


def test_exponential_and_logarithm_are_inverse():
    xi = np.random.default_rng(0).uniform(-1, 1, size=(50, 6))  # turns of less than half a turn
    assert np.abs(logarithm(exponential(xi)) - xi).max() < 1e-13
    assert np.abs(logarithm(exponential(1e-9 * xi)) - 1e-9 * xi).max() < 1e-22


@pytest.mark.parametrize("name", ["puma560", "stanford", "gantry"])
def test_the_jacobian_of_a_chain_is_its_derivative(name):
    chain = chain_of(read_robot(name))
    q = np.random.default_rng(1).uniform(-1, 1, (6, chain.robot.n))
    positions = chain.positions(q)
    J = moved(chain.nominal, chain.is_hinge, positions).jacobian()
    for k in range(6 * (chain.n + 1)):
        xi = np.zeros((chain.n + 1, 6))
        xi.flat[k] = STEP
        ahead, behind = (moved(chain.nominal @ exponential(s * xi), chain.is_hinge, positions).tool for s in (1, -1))
        turned = rotation_vector(ahead[:, :3, :3] @ np.swapaxes(behind[:, :3, :3], 1, 2))
        difference = np.concatenate([ahead[:, :3, 3] - behind[:, :3, 3], turned], axis=1) / (2 * STEP)
        assert np.abs(difference - J[:, :, k]).max() < 1e-8


@pytest.mark.parametrize("measure", list(KINDS))
def test_rows_are_the_derivative_of_residuals(measure):
    chain = chain_of(read_robot("ur10e"))
    rng = np.random.default_rng(2)
    q = rng.uniform(-1.5, 1.5, (12, 6))
    tool = moved(chain.nominal, chain.is_hinge, chain.positions(q)).tool
    made, own = exact_readings(measure, tool, rng)
    layout = GeometryLayout(chain, Postures(q, made))
    shift = np.array([0.0, 0.0, 3.0]) if "pixel" in measure else np.zeros(3)
    placements = chain.nominal.copy()
    placements[0, :3, 3] += shift  # what a camera sees is ahead of it
    state = GeometryState(placements, np.zeros(0), tuple(values + 0.01 for values in own))
    state = layout.stepped(state, 1e-3 * rng.normal(size=len(layout.columns)))
    rows = layout.linearised(state)
    scale = max(1.0, float(np.abs(rows.A).max()))
    for k in range(len(layout.columns)):
        step = np.zeros(len(layout.columns))
        step[k] = STEP
        ahead, behind = (layout.linearised(layout.stepped(state, s * step)).residual for s in (1, -1))
        difference = -(ahead - behind) / (2 * STEP)
        slack = 2e-3 if measure in ("pose", "orientation") else 1e-5  # residuals of rotations: small ones
        assert np.abs(difference - rows.A[:, k]).max() < slack * scale, layout.columns[k]
