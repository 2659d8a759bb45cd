"""What is said of a log that a model was fitted to, from the names of both."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from minertia.identification.remembered import fitted_before


@pytest.mark.parametrize(
    ("fitted", "log", "said"),
    [
        ("run.csv", "other.csv", None),
        ("run.csv", "folder/run.csv", "at least in part"),
        ("run.csv [:14]", "run.csv", "at least in part"),
        ("run.csv [:14]", "run.csv [13:20]", "at least in part"),
        ("run.csv [:14]", "run.csv [14:]", "another part of this log"),
        ("run.csv [1e3:2.5e3]", "run.csv [-1:2]", "another part of this log"),
        ("run [a:b].csv", "run [a:b].csv", "at least in part"),
        ("run [1.2.3:4]", "run [1.2.3:4]", "at least in part"),
        ("run [:..].csv [2:]", "run [:..].csv [:2]", "another part of this log"),
    ],
)
def test_parts_of_a_log_are_told_apart(fitted: str, log: str, said: str | None) -> None:
    model = SimpleNamespace(evidence={"recordings": [{"log": fitted}]})
    told = fitted_before(model, log)  # type: ignore[arg-type]
    assert len(told) == (said is not None) and all(said is not None and said in one for one in told)
