"""Random chains and trees whose lengths and angles are letters, with and without values of their own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from minertia.algebra.polynomial import letter, turn
from minertia.algebra.vec3 import compose, shift, turn_x, turn_z
from minertia.robot.joint import Follows, Joint
from minertia.robot.robot import Robot
from tests.random_robots import GRAVITIES, TWISTS, random_ten


@dataclass
class Alphabet:
    """Letters as they are needed: new ones, now and then one that stands elsewhere already, some with a value."""

    rng: np.random.Generator
    symbols: dict[str, float | None]

    def letter(self, stem: str):
        known = [name for name in self.symbols if name.startswith(stem)]
        if known and self.rng.random() < 0.3:
            return letter(str(self.rng.choice(known)))
        name = f"{stem}{len(self.symbols)}"
        self.symbols[name] = None if self.rng.random() < 0.5 else float(self.rng.uniform(-1.2, 1.2))
        return letter(name)

    def length(self):
        kind = self.rng.random()
        if kind < 0.4:
            return 0
        return self.letter("L") * int(self.rng.choice((1, -1))) if kind < 0.9 else float(self.rng.uniform(-0.6, 0.6))

    def angle(self):
        kind = self.rng.random()
        if kind < 0.5:
            return float(self.rng.choice(TWISTS))
        angle = self.letter("a") * int(self.rng.choice((1, -1)))
        return angle if kind < 0.8 else angle + float(self.rng.choice(TWISTS))


def lettered_robot(seed: int, *, tree: bool = False, floating: bool = False, mimic: bool = False) -> Robot:
    """One to five joints, in rows of modified Denavit-Hartenberg tables; about half of them slide."""
    rng = np.random.default_rng((77, seed))
    letters = Alphabet(rng, {})
    joints: list[Joint] = []
    for j in range(int(rng.integers(2, 6))):
        parent = j - 1 if not tree or j < 2 else int(rng.integers(max(0, j - 3), j))
        R, p = compose(
            turn_z(turn(letters.angle() if tree else 0.0)),
            turn_x(turn(letters.angle())),
            shift(x=letters.length()),
            turn_z(turn(letters.angle() if rng.random() < 0.5 else 0.0)),
            shift(z=letters.length()),
        )
        kind = "revolute" if rng.random() < 0.5 else "prismatic"
        follows = Follows((0,), (-0.5,), 0.1) if mimic and j == 2 else None
        joints.append(Joint(f"j{j + 1}", kind, parent if j else None, R, p, f"link{j + 1}", follows=follows))
    return Robot(
        name=f"lettered{seed}",
        joints=tuple(joints),
        gravity=GRAVITIES[seed % 4],
        base="floating" if floating else "fixed",
        links=tuple(random_ten(rng) for _ in joints),
        base_link=random_ten(rng),
        symbols=letters.symbols,
    )
