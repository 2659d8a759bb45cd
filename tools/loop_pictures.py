"""Pictures of the bundled robots with closed loops, into docs/images: python tools/loop_pictures.py.

Each is drawn at its seed from what the package reads: a link is a line or plate between its hinges, a filled circle a
coordinate, an empty one a passive joint, a square where a loop is cut open.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

import minertia as mi
from minertia.algebra.vec3 import compose
from minertia.robot.robot import Robot

IMAGES = Path(__file__).parent.parent / "docs" / "images"
WIDTH, HEIGHT, EDGE = 560, 420, 70
COLOURS = ("#4878a8", "#b5523b", "#5a8f52", "#8a62a3", "#b98a2f", "#4d9a98", "#a3506f", "#6c6c6c", "#7a8f2c", "#5560b0")
SIDE = ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0))  # outwards and up
CORNER = ((math.cos(0.5), -math.sin(0.5), 0.0), (0.28 * math.sin(0.5), 0.28 * math.cos(0.5), 0.96))
VIEWS = {"palletiser": SIDE, "parallelogram_arm": SIDE, "five_bar": SIDE, "delta": CORNER}


def picture(name: str) -> str:
    """The SVG of a bundled robot."""
    robot = mi.read_robot(name).numeric
    points, cuts = places(robot)
    view = np.array(VIEWS[name])
    ground = {j: points[j] for j, joint in enumerate(robot.joints) if joint.parent is None}
    plates = {j: link_points(robot, j, points, cuts) for j in range(robot.n_joints)}
    ends = np.array([p for own in plates.values() for p in own] + [[p[0], p[1], 0.0] for p in ground.values()])
    flat = ends @ view.T
    low, size = flat.min(axis=0), np.ptp(flat, axis=0)
    scale = min((WIDTH - 2 * EDGE) / size[0], (HEIGHT - 2 * EDGE) / size[1])
    left = 0.5 * (WIDTH - scale * size[0])

    def place(p: np.ndarray) -> tuple[float, float]:
        x, y = view @ p
        return left + scale * (x - low[0]), HEIGHT - EDGE - scale * (y - low[1])

    parts = [_ground(*place(p)) for p in ground.values()]
    parts += [_link([place(p) for p in own], COLOURS[j % len(COLOURS)]) for j, own in plates.items()]
    parts += [_square(*place(p)) for p in cuts.values()]
    parts += [_hinge(*place(points[j]), j in robot.independent) for j in reversed(range(robot.n_joints))]
    parts += _labels(robot, {j: place(p) for j, p in enumerate(points)})
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
    title = f"<title>{robot.name} at its seed, drawn by tools/loop_pictures.py</title>"
    back = f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    return "\n".join([head, title, back, *parts, "</svg>", ""])


def places(robot: Robot) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """Origin of every joint's frame at the seed, and of every cut, in the base frame [m]."""
    assert robot.seed is not None
    poses = []
    for joint, q in zip(robot.joints, robot.seed, strict=True):
        own = joint.pose(q)
        poses.append(own if joint.parent is None else compose(poses[joint.parent], own))
    cuts = {cut.name: compose(poses[cut.first], cut.first_pose)[1] for cut in robot.cuts if cut.first is not None}
    return [np.array(p, float) for _, p in poses], {name: np.array(p, float) for name, p in cuts.items()}


def link_points(robot: Robot, j: int, points: list[np.ndarray], cuts: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Where a link is joined to others: its own hinge, those it carries, and cuts; of an end its centre of mass."""
    found = [points[j], *(points[k] for k, joint in enumerate(robot.joints) if joint.parent == j)]
    found += [cuts[cut.name] for cut in robot.cuts if j in (cut.first, cut.second)]
    return [p for k, p in enumerate(found) if all(np.linalg.norm(p - q) > 1e-6 for q in found[:k])]


def _link(points: list[tuple[float, float]], colour: str) -> str:
    if len(points) < 2:
        return ""
    middle = np.mean(points, axis=0)
    around = sorted(points, key=lambda p: math.atan2(p[1] - middle[1], p[0] - middle[0]))
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in around)
    fill = colour if len(points) > 2 else "none"
    return (
        f'<polygon points="{text}" fill="{fill}" fill-opacity="0.25" stroke="{colour}" stroke-width="7" '
        'stroke-opacity="0.8" stroke-linejoin="round"/>'
    )


def _hinge(x: float, y: float, is_active: bool) -> str:
    fill, radius = ("black", 6.0) if is_active else ("white", 4.5)
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}" stroke="black" stroke-width="1.5"/>'


def _square(x: float, y: float) -> str:
    return f'<rect x="{x - 6:.1f}" y="{y - 6:.1f}" width="12" height="12" fill="#ffe08a" stroke="black"/>'


def _ground(x: float, y: float) -> str:
    lines = [f"M {x - 22 + 8 * k:.1f} {y + 16:.1f} l -6 8" for k in range(6)]
    shape = (
        f"M {x:.1f} {y:.1f} L {x - 14:.1f} {y + 16:.1f} L {x + 14:.1f} {y + 16:.1f} Z M {x - 24:.1f} {y + 16:.1f} h 48"
    )
    return f'<path d="{shape} {" ".join(lines)}" fill="none" stroke="#555"/>'


def _labels(robot: Robot, where: dict[int, tuple[float, float]]) -> list[str]:
    """Names beside the hinges, those at one place in one line; crosses of universal joints have none."""
    lines: dict[tuple[int, int], list[str]] = {}
    for j, (x, y) in where.items():
        if j not in robot.crosses:
            lines.setdefault((round(x / 3), round(y / 3)), []).append(robot.joints[j].name)
    first = {key: next(p for p in where.values() if (round(p[0] / 3), round(p[1] / 3)) == key) for key in lines}
    texts, taken = [], list[tuple[float, float]]()
    for key, names in lines.items():
        x, y = first[key][0] + 11, first[key][1] - 9
        if any(abs(x - u) < 80 and abs(y - v) < 14 for u, v in taken):
            y += 26  # below the hinge where there is a name beside it
        taken.append((x, y))
        start = f'<text x="{x:.1f}" y="{y:.1f}" font-family="sans-serif" font-size="13">'
        texts.append(f"{start}{', '.join(names)}</text>")
    return texts


def write() -> None:
    """All pictures."""
    for name in VIEWS:
        (IMAGES / f"loops-{name.replace('_', '-')}.svg").write_text(picture(name), encoding="utf-8")


if __name__ == "__main__":
    write()
