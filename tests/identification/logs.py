"""Small robots and logs with known truth."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from minertia.algebra.vec3 import IDENTITY, ZERO
from minertia.identification.recording import Recording
from minertia.robot.joint import Joint, Limits
from minertia.robot.robot import Robot


def chain(kinds: str, *, limit: float | None = None, names: str = "j{}") -> Robot:
    """A chain of joints whose geometry does not matter."""
    kind = {"R": "revolute", "P": "prismatic"}
    limits = Limits() if limit is None else Limits(-limit, limit)
    joints = tuple(
        Joint(names.format(k + 1), kind[c], None if k == 0 else k - 1, IDENTITY, ZERO, limits=limits)
        for k, c in enumerate(kinds)
    )
    return Robot("chain", joints)


def motion(n: int = 2, seconds: float = 10.0, rate: float = 200.0) -> dict[str, np.ndarray]:
    """t, q, qd, qdd, tau of a smooth motion."""
    t = np.arange(round(seconds * rate)) / rate
    w = 2 * np.pi * (0.2 + 0.1 * np.arange(n))
    q, qd, qdd = np.sin(np.outer(t, w)), w * np.cos(np.outer(t, w)), -(w**2) * np.sin(np.outer(t, w))
    return {"t": t, "q": q, "qd": qd, "qdd": qdd, "tau": 2 * qdd + 0.5 * qd + 3 * q}


def recorded(n: int = 2, **changes: np.ndarray) -> Recording:
    """The motion as a recording."""
    return Recording(**{**motion(n), **changes})


def table(m: dict[str, np.ndarray], **names: str) -> dict[str, np.ndarray]:
    """Columns by name; names: signal -> stem, such as q="actual_q_" (numbers from 1)."""
    columns = {"t": m["t"]}
    for signal, stem in (names or {"q": "q", "qd": "dq", "tau": "tau"}).items():
        columns |= {f"{stem}{j + 1}": m[signal][:, j] for j in range(m[signal].shape[1])}
    return columns


def write_csv(path: Path, columns: dict[str, np.ndarray], delimiter: str = ",") -> Path:
    """A CSV file, compressed when its name says so."""
    rows = [delimiter.join(columns)]
    rows += [delimiter.join(repr(float(v)) for v in row) for row in np.column_stack(list(columns.values()))]
    text = "\n".join(rows) + "\n"
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path
