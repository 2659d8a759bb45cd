"""The CMU DD Arm II as far as Khosla 1987 prints it: tables 2 to 4, and arms for the simulation made of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from minertia.identification.loads.payload import nearest_body
from minertia.robot.formats.dh.read import parse_toml
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.inertia import from_six, impossible
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

INITIAL, ESTIMATED = "initial", "estimated"

# Tables 2 and 3: the scan keeps the two columns of numbers; the names of the rows, lost there, follow from their order
# (six inertias, three first moments, mass).  The mass of link 4 is lost in both columns.
LINK6 = {
    INITIAL: (0.000426, 0.0, 0.0, 0.000421, 0.0, 0.000047, 0.0, 0.0, 0.002199, 0.269),
    ESTIMATED: (0.002092, 0.000011, 0.000022, 0.001979, 0.000010, 0.000310, -0.000090, -0.000187, 0.008709, 0.90018),
}
LINK5 = {
    INITIAL: (0.002018, 0.0, 0.0, 0.001049, -0.000092, 0.001396, 0.0, 0.005130, -0.016784, 2.817),
    ESTIMATED: (0.002602, 0.000302, -0.000108, 0.001349, -0.000070, 0.001211, 0.000981, 0.006744, -0.019689, 3.0895),
}
LINK4: dict[str, tuple[float | None, ...]] = {
    INITIAL: (0.023775, 0.0, 0.0, 0.004055, 0.003083, 0.021652, 0.0, 0.134764, 0.043011, None),
    ESTIMATED: (0.030765, -0.00100, 0.000302, 0.003655, 0.004207, 0.029002, -0.002402, 0.160372, 0.081462, None),
}
LINK3 = {
    INITIAL: (0.014622, 0.0, 0.0, 0.006615, 0.001269, 0.012432, 0.0, -0.039703, -0.012487, 2.801),
    ESTIMATED: (0.015192, 0.000726, 0.000109, 0.006209, 0.001872, 0.014080, 0.015242, -0.132251, -0.040521, 2.92106),
}
WRIST = {3: LINK3, 4: LINK4, 5: LINK5, 6: LINK6}
# Table 4, in the frames of the two-joint arm: inertia about the vertical axis, horizontal first moments, mass.
TABLE4 = {
    "ZZ2": (0.264736, 0.322156),
    "MX2": (-1.039971, -1.156482),
    "MY2": (0.008722, 0.008234),
    "M2": (7.894, 8.2501),
    "ZZ1": (1.193645, 1.270784),
    "MX1": (-5.925900, -6.478305),
    "M1": (19.753000, 20.152630),
}
SEVEN = ("ZZ1", "MX1", "M1", "ZZ2", "MX2", "MY2", "M2")

# Ours, as the paper does not print them.
A1, A2, D4 = 0.45, 0.35, 0.30  # m
MASS4 = 3.0  # kg
FLAT = 0.6  # horizontal over vertical moment of inertia of links 1 and 2; they have no effect, MuJoCo asks for them
TWISTS = (0, 90, 90, -90, 90, 0)  # degrees, six joints; axes 1 and 2 vertical


@dataclass(frozen=True)
class Body:
    """A link in its classic frame: mass [kg], first moments [kg m], inertia about the centre of mass [kg m2]."""

    mass: float
    moments: tuple[float, ...]
    inertia: tuple[float, ...]

    @property
    def ten(self) -> tuple[float, ...]:
        """Its ten parameters about the frame's origin."""
        return tuple(from_six(self.mass, [m / self.mass for m in self.moments], self.inertia, "com"))

    @property
    def possible(self) -> tuple[float, ...]:
        """The nearest ten that a body can have; the same where these are."""
        if impossible(self.ten) is None:
            return self.ten
        scale = np.maximum(np.abs(self.ten), 1e-2 * np.abs(self.ten[:6]).max())
        return tuple(nearest_body(np.array(self.ten), np.diag(scale**2)).tolist())


def printed(link: int, column: str) -> Body:
    """A link of tables 2 to 4, links 1 and 2 with a frame whose z axis is vertical."""
    if link <= 2:
        k = 0 if column == INITIAL else 1
        value = {name[:-1]: pair[k] for name, pair in TABLE4.items() if name.endswith(str(link))}
        zz = value["ZZ"]
        return Body(value["M"], (value["MX"], value.get("MY", 0.0), 0.0), (FLAT * zz, 0, 0, FLAT * zz, 0, zz))
    row = WRIST[link][column]
    values = [MASS4 if v is None else float(v) for v in row]
    return Body(values[9], tuple(values[6:9]), tuple(values[:6]))


def turned(body: Body) -> Body:
    """A link of the two-joint arm in a frame whose y axis is vertical: z becomes y, y becomes -z (twist 90 degrees)."""
    x, y, z = body.moments
    xx, xy, xz, yy, yz, zz = body.inertia
    return Body(body.mass, (x, z, -y), (xx, xz, -xy, zz, -yz, yy))


def bodies(column: str, joints: int) -> list[Body]:
    """The links of an arm in its classic frames."""
    found = [printed(link, column) for link in range(1, joints + 1)]
    return found if joints == 2 else [found[0], turned(found[1]), *found[2:]]


@cache
def arm(column: str, joints: int = 2, a1: float = A1) -> Robot:
    """The arm with the values of one column: two joints (the published kinematics), or six (with our lengths)."""
    twists = TWISTS if joints == 6 else (0, 0)
    lengths, offsets = (a1, A2, 0, 0, 0, 0), (0, 0, 0, D4, 0, 0)
    rows = [_row(*row) for row in zip(bodies(column, joints), twists, lengths, offsets, strict=False)]
    text = "\n".join(['name = "CMU DD Arm II"', 'convention = "standard"', *rows])
    return parse_toml(text, "khosla1987.toml", ReadOptions())


def _row(body: Body, twist: float, a: float, d: float) -> str:
    ten = [f"{s} = {v!r}" for s, v in zip(LINK_SYMBOLS, body.possible, strict=True)]
    lines = ["[[joint]]", 'kind = "revolute"', f"alpha_deg = {twist}", f"a = {a}", f"d = {d}", "[joint.link]", *ten]
    return "\n".join(lines)


def lowered(robot: Robot, factor: float) -> Robot:
    """The same arm with every inertial parameter multiplied."""
    return robot.with_parameters(factor * robot.parameter_vector(True, True))
