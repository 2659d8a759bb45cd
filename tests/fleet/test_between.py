"""Fleet means with the spread between robots inside, and robots unlike the others at a stated rate."""

from __future__ import annotations

import numpy as np
import pytest

from minertia.fleet.between import between_robots
from minertia.fleet.outliers import outlier_robots
from minertia.io.errors import MinertiaError

SCATTER = np.array([[1.0, 0.4], [0.4, 0.5]])


def drawn(rng: np.random.Generator, robots: int) -> tuple[np.ndarray, np.ndarray]:
    """Values of robots known with covariances that differ."""
    V = np.stack([np.diag(rng.uniform(0.05, 0.5, 2)) for _ in range(robots)])
    noise = np.sqrt(np.einsum("nii->ni", V)) * rng.normal(size=(robots, 2))
    return rng.multivariate_normal([5.0, -2.0], SCATTER, robots) + noise, V


@pytest.mark.parametrize(
    ("fleets", "least", "most"), [(40, 0.88, 1.0), pytest.param(150, 0.91, 0.985, marks=pytest.mark.slow)]
)
def test_the_mean_of_a_fleet_is_covered(fleets: int, least: float, most: float) -> None:
    rng = np.random.default_rng(0)
    inside, narrow = [], []
    for _ in range(fleets):
        values, V = drawn(rng, 20)
        found = between_robots(("a", "b"), values, V)
        error = found.mean - [5.0, -2.0]
        inside.append(np.abs(error) < 2.09 * found.deviation)  # t with 19 degrees of freedom
        alone = np.sqrt(np.diag(np.linalg.inv(np.linalg.inv(V).sum(axis=0))))
        narrow.append(np.abs(error) < 2.09 * alone)
    assert least < np.mean(inside) <= most
    assert np.mean(narrow) < 0.85  # without the spread between robots


def test_scatter_and_shrinking() -> None:
    values, V = drawn(np.random.default_rng(1), 400)
    found = between_robots(("a", "b"), values, V)
    np.testing.assert_allclose(found.scatter, SCATTER, atol=0.15)
    assert np.all(np.var(found.robots, axis=0) < np.var(values, axis=0))
    with pytest.raises(MinertiaError, match="at least 3 robots"):
        between_robots(("a", "b"), values[:2], V[:2])


@pytest.mark.slow
def test_robots_unlike_the_others_are_found_at_the_stated_rate() -> None:
    rng = np.random.default_rng(2)
    names = tuple(f"r{k}" for k in range(100))
    false, found, given = 0, 0, 0
    for _ in range(20):
        values, V = drawn(rng, 100)
        values[:5, 0] += 6.0
        outliers = outlier_robots([(names, ("a", "b"), values, V)], 0.1)
        guilty = {o.robot for o in outliers}
        given += len(guilty)
        found += len(guilty & set(names[:5]))
        false += len(guilty - set(names[:5]))
        assert all(o.name == "a" for o in outliers if o.robot in names[:5])
    assert found >= 85 and false <= 0.2 * given
    with pytest.raises(MinertiaError, match="at least 10 robots"):
        outlier_robots([(names[:4], ("a", "b"), values[:4], V[:4])])
