"""Robots with loops built in Python: planar loops of hinges on any carrier, cut anywhere; rams; loops in space."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import qr

from minertia.algebra.polynomial import letter, turn
from minertia.algebra.vec3 import IDENTITY, Pose, compose, invert, shift, turn_x, turn_z
from minertia.robot.formats.dh.read import parse_toml
from minertia.robot.formats.dh.write import toml_text
from minertia.robot.formats.reading import ReadOptions
from minertia.robot.joint import Cut, Follows, Joint
from minertia.robot.loops.closure import equation_count, jacobian
from minertia.robot.robot import Robot
from tests.random_robots import random_robot, random_ten

LYING = turn_x((0, -1))  # z of the loop along y of the world: gravity acts in its plane
FOUR_BAR = ((0.0, 0.0), (0.1, 0.28), (0.75, 0.62), (0.9, 0.0))
FIVE_BAR = ((0.0, 0.0), (-0.12, 0.4), (0.27, 0.85), (0.68, 0.44), (0.5, 0.0))
EFFECTS = {"IA": 0.1, "FV": 0.3, "FC": 0.2, "OFF": 0.05}


def planar_loop(
    points: tuple[tuple[float, float], ...],
    *,
    cut: int = 2,
    active: tuple[int, ...] = (0,),
    carrier: Robot | None = None,
    placement: Pose = LYING,
    heights: tuple[float, ...] | None = None,
    rng: np.random.Generator | None = None,
) -> Robot:
    """A loop of hinges at these points of the plane z = 0 of its placement on the last link of a carrier (or ground).

    Body k hangs at hinge k.  cut: the hinge that is cut.  active: hinges that are coordinates.  heights: of the hinges'
    frames along z.  In the seed every joint of the loop is at 0, every frame parallel to the placement.
    """
    rng = np.random.default_rng(7) if rng is None else rng
    heights = heights or (0.0,) * len(points)
    places = [compose(placement, shift(x, y, z)) for (x, y), z in zip(points, heights, strict=True)]
    joints = list(carrier.joints) if carrier is not None else []
    first = len(joints)
    root = first - 1 if carrier is not None else None

    def hang(hinges: range) -> int | None:
        parent, frame = root, shift()
        for k in hinges:
            R, p = compose(invert(frame), places[k])
            joints.append(Joint(f"hinge{k}", "revolute", parent, R, p, f"body{k}", is_passive=k not in active))
            parent, frame = len(joints) - 1, places[k]
        return parent

    ends = hang(range(cut)), hang(range(len(points) - 1, cut, -1))
    frames = [shift() if j == root else places[k] for k, j in ((cut - 1, ends[0]), (cut + 1, ends[1]))]
    poses = [compose(invert(frame), places[cut]) for frame in frames]
    loop = Cut("pin", "revolute", ends[0], ends[1], poses[0], poses[1])
    old = carrier or Robot("none", ())
    links = (*old.links, *(random_ten(rng) for _ in joints[first:]))
    effects = (*old.effects, *({} for _ in joints[first:]))
    return Robot(
        name=f"loop{len(points)}",
        joints=tuple(joints),
        gravity=old.gravity,
        links=links,
        effects=effects,
        cuts=(loop,),
        seed=(0.0,) * len(joints),
    )


def mirrored_seed(points: tuple[tuple[float, float], ...]) -> tuple[float, float, float]:
    """The other way to put coupler and rocker of a four-bar together at the same crank."""
    a, b, d = (np.array(points[k]) for k in (1, 2, 3))
    along = (d - a) / np.linalg.norm(d - a)
    other = 2 * (a + along * float(along @ (b - a))) - b

    def angle(v: np.ndarray, w: np.ndarray) -> float:
        return float(np.arctan2(v[0] * w[1] - v[1] * w[0], v @ w))

    return (0.0, angle(b - a, other - a), angle(b - d, other - d))


def four_bar(cut: int = 2, **more: object) -> Robot:
    """A four-bar on the ground, its axes horizontal."""
    return replace(planar_loop(FOUR_BAR, cut=cut, **more), name="four-bar")  # type: ignore[arg-type]


def five_bar(cut: int = 2, **more: object) -> Robot:
    """A five-bar on the ground, driven at both of its ground hinges."""
    return replace(planar_loop(FIVE_BAR, cut=cut, active=(0, 4), **more), name="five-bar")  # type: ignore[arg-type]


def random_loop(seed: int) -> Robot:
    """A random four- or five-bar on 0 to 3 random joints, cut at a random passive hinge, hinges at any height."""
    rng = np.random.default_rng(seed)
    points = np.array(FOUR_BAR if rng.random() < 0.5 else FIVE_BAR) + rng.uniform(-0.08, 0.08, (4, 2)).repeat(2, 0)[:1]
    points = points + rng.uniform(-0.08, 0.08, points.shape)
    count = int(rng.integers(0, 4))
    carrier = None
    if count:
        found = random_robot(4 * seed, n=count)  # gravity along z
        carrier = replace(found, effects=({},) * count)
    placement = compose(
        LYING, turn_z(turn(float(rng.uniform(-3, 3)))), turn_x(turn(float(rng.choice([0.0, 0.0, 0.7]))))
    )
    return planar_loop(
        tuple((float(x), float(y)) for x, y in points),
        cut=int(rng.integers(1, 3)) if len(points) == 4 else 2,
        active=(0,) if len(points) == 4 else (0, 4),
        carrier=carrier,
        placement=placement,
        heights=tuple(float(h) for h in rng.uniform(-0.2, 0.2, len(points))),
        rng=rng,
    )


def planar_loops(seed: int) -> Robot:
    """A random planar loop on a link of another one, in its plane or across it, on 0 to 3 random joints; letters.

    A letter is the length from hinge to hinge of each link that carries another one of its loop.
    """
    rng = np.random.default_rng((17, seed))
    first = _renamed(random_loop(seed), 0, "a")
    points = np.array(FOUR_BAR if rng.random() < 0.5 else FIVE_BAR)
    points = points + rng.uniform(-0.08, 0.08, points.shape)
    x, y, z = (float(v) for v in rng.uniform(-0.2, 0.2, 3))
    tilt = turn_x(turn(float(rng.choice([0.0, 0.0, 0.7]))))
    both = planar_loop(
        tuple((float(x), float(y)) for x, y in points),
        active=(0,) if len(points) == 4 else (0, 4),
        carrier=first,
        placement=compose(shift(x, y, z), turn_z(turn(float(rng.uniform(-3, 3)))), tilt),
        rng=rng,
    )
    both = _renamed(both, first.n_joints, "b")
    joints, symbols = list(both.joints), dict[str, float | None]()
    for j, joint in enumerate(joints):
        parent = "" if joint.parent is None else joints[joint.parent].name
        if parent.startswith("hinge") and parent[-1] == joint.name[-1]:
            symbols[f"l{j + 1}"] = joint.p[0]
            joints[j] = replace(joint, p=(letter(f"l{j + 1}"), *joint.p[1:]))
    cuts = (*first.cuts, replace(both.cuts[0], name="other pin"))
    return replace(both, name=f"planar{seed}", joints=tuple(joints), cuts=cuts, symbols=symbols)


def _renamed(robot: Robot, start: int, end: str) -> Robot:
    """The robot with an ending on the names of its hinges from one joint on."""
    names = (j.name + end if k >= start and j.name.startswith("hinge") else j.name for k, j in enumerate(robot.joints))
    joints = tuple(replace(joint, name=name) for joint, name in zip(robot.joints, names, strict=True))
    return replace(robot, joints=joints)


def ram(cut: str = "slider", carrier: Robot | None = None) -> Robot:
    """A lever moved by a ram, cut at the slider or at the ram's pin; its coordinate is the slider, else the lever."""
    rng = np.random.default_rng(11)
    old = carrier or Robot("none", ())
    root, first = (None, 0) if carrier is None else (old.n_joints - 1, old.n_joints)
    pin = (0.25, 0.1)
    foot = (0.5, -0.3)
    along = pin[0] - foot[0], pin[1] - foot[1]
    angle, length = math.atan2(along[1], along[0]), math.hypot(*along)
    base = compose(LYING, shift(*foot), turn_z(turn(angle)))
    slide: Pose = (((0, 0, 1), (1, 0, 0), (0, 1, 0)), (0.5 * length, 0, 0))  # z along the ram
    lever = Joint("lever", "revolute", root, *LYING, "arm", is_passive=True)
    barrel = Joint("foot", "revolute", root, *base, "barrel", is_passive=True)
    tip = compose(invert(compose(base, slide)), compose(LYING, shift(*pin)))
    if cut == "pin":
        joints = (lever, barrel, Joint("slider", "prismatic", first + 1, *slide, "rod"))
        seam = Cut("pin", "revolute", first, first + 2, shift(*pin), tip)
    else:
        rod = compose(shift(*pin), turn_z(turn(angle)))
        joints = (
            replace(lever, is_passive=False),
            barrel,
            Joint("pin", "revolute", first, *rod, "rod", is_passive=True),
        )
        here = compose(invert(compose(LYING, shift(*pin), turn_z(turn(angle)))), compose(base, slide))
        seam = Cut("slider", "prismatic", first + 1, first + 2, slide, here)
    links = (*old.links, *(random_ten(rng) for _ in joints))
    return Robot(
        name=f"ram-{cut}",
        joints=(*old.joints, *joints),
        gravity=old.gravity,
        links=links,
        cuts=(seam,),
        seed=(0.0,) * (first + 3),
    )


def spatial_four_bar() -> Robot:
    """Two hinges with oblique axes and a rod with a ball at each end; the spin of the rod is taken out."""
    rng = np.random.default_rng(3)
    crank = Joint("crank", "revolute", None, *LYING, "crank")
    tilted = compose(shift(0.8, 0.3, 0.05), turn_x((float(np.cos(1.9)), float(np.sin(1.9)))), turn_z(turn(0.4)))
    rocker = Joint("rocker", "revolute", None, *tilted, "rocker", is_passive=True)
    ball, end = compose(LYING, shift(0.2, 0.1, 0.03)), compose(tilted, shift(0.3, 0.35, 0.0))
    d = np.array(end[1], float) - np.array(ball[1], float)
    x = d / np.linalg.norm(d)
    y = np.cross([0.3, 0.5, 1.0], x)
    y /= np.linalg.norm(y)
    z = np.cross(x, y)
    R = tuple(tuple(float(v) for v in row) for row in np.column_stack([z, x, y]))  # its z axis normal to the rod
    first = compose(invert(LYING), (R, ball[1]))
    cross = Joint("cross", "revolute", 0, *first, "cross", is_passive=True)
    swap: Pose = (((0, 0, 1), (1, 0, 0), (0, 1, 0)), (0, 0, 0))
    rod = Joint("rod", "revolute", 2, *swap, "rod", is_passive=True)
    there = compose(invert(compose((R, ball[1]), swap)), end)
    cut = Cut("ball", "spherical", 3, 1, (IDENTITY, there[1]), shift(0.3, 0.35, 0.0))
    links = (random_ten(rng), random_ten(rng), (0.0,) * 10, random_ten(rng))
    return Robot("spatial four-bar", (crank, rocker, cross, rod), links=links, cuts=(cut,), seed=(0.0,) * 4)


def stewart() -> Robot:
    """Six driven legs on universal joints, balls at the platform, which hangs at the first leg by three hinges."""
    rng = np.random.default_rng(1)
    feet = [np.array([0.6 * math.cos(a), 0.6 * math.sin(a), 0.0]) for a in np.radians([-15, 15, 105, 135, 225, 255])]
    balls = [np.array([0.3 * math.cos(a), 0.3 * math.sin(a), 0.7]) for a in np.radians([-45, 45, 75, 165, 195, 285])]
    to_x, to_y = np.eye(3)[[2, 0, 1]].T, np.eye(3)[[1, 2, 0]].T  # frames whose z is x or y of another
    joints: list[Joint] = []
    links: list[tuple[float, ...]] = []
    cuts: list[Cut] = []

    def hang(name: str, kind: str, parent: int | None, R: np.ndarray, p: np.ndarray, is_massless: bool = False) -> int:
        turn = tuple(tuple(float(v) for v in row) for row in R)
        place = tuple(float(v) for v in p)
        joints.append(Joint(name, kind, parent, turn, place, is_passive=kind == "revolute"))  # type: ignore[arg-type]
        links.append((0.0,) * 10 if is_massless else random_ten(rng))
        return len(joints) - 1

    platform = -1
    for k, (foot, ball) in enumerate(zip(feet, balls, strict=True)):
        way = ball - foot
        z = way / np.linalg.norm(way)
        x = np.cross([0.2, 0.3, 1.0], z)
        x /= np.linalg.norm(x)
        leg = np.column_stack([x, np.cross(z, x), z])
        first, second = leg @ to_x, leg @ to_y
        cross = hang(f"cross{k}", "revolute", None, first, foot, is_massless=True)
        swing = hang(f"swing{k}", "revolute", cross, first.T @ second, np.zeros(3))
        rod = hang(f"leg{k}", "prismatic", swing, second.T @ leg, second.T @ (0.5 * way))
        end = leg.T @ (0.5 * way)
        if platform < 0:
            tilt = hang("tilt", "revolute", rod, leg.T @ to_x, end, is_massless=True)
            roll = hang("roll", "revolute", tilt, to_x.T @ to_y, np.zeros(3), is_massless=True)
            platform = hang("platform", "revolute", roll, to_y.T, np.zeros(3))
        else:
            ends = (tuple(float(v) for v in p) for p in (end, ball - balls[0]))
            cuts.append(Cut(f"ball{k}", "spherical", rod, platform, *((IDENTITY, p) for p in ends)))  # type: ignore[arg-type]
    return Robot("stewart", tuple(joints), links=tuple(links), cuts=tuple(cuts), seed=(0.0,) * len(joints))


def planar_platform() -> Robot:
    """A platform on three driven arms of two links each in a horizontal plane (3-RRR); every joint at 0 in the seed."""
    rng = np.random.default_rng(2)
    feet, elbows = ((0.0, 0.0), (1.0, 0.0), (0.5, 0.9)), ((0.12, 0.36), (0.92, 0.37), (0.22, 0.62))
    pins = ((0.4, 0.24), (0.6, 0.24), (0.5, 0.41))
    joints: list[Joint] = []
    for k in range(3):
        joints.append(Joint(f"arm{k}", "revolute", None, *shift(*feet[k])))
        bent = shift(elbows[k][0] - feet[k][0], elbows[k][1] - feet[k][1])
        joints.append(Joint(f"rod{k}", "revolute", 2 * k, *bent, is_passive=True))
    first = shift(pins[0][0] - elbows[0][0], pins[0][1] - elbows[0][1])
    joints.append(Joint("platform", "revolute", 1, *first, is_passive=True))
    cuts = tuple(
        Cut(f"pin{k}", "revolute", 2 * k + 1, 6, shift(pins[k][0] - elbows[k][0], pins[k][1] - elbows[k][1]),
            shift(pins[k][0] - pins[0][0], pins[k][1] - pins[0][1]))
        for k in (1, 2)
    )  # fmt: skip
    links = tuple(random_ten(rng) for _ in joints)
    return Robot("3-RRR", tuple(joints), links=links, cuts=cuts, seed=(0.0,) * 7)


def with_rough_pins(robot: Robot, cut: str = "FV = 0.3\nFC = 0.2", hinge: str = "FV = 0.3\nFC = 0.2") -> Robot:
    """A loop with the same friction at all of its hinges, that of the cut one from the table of its file."""
    head, *joints = toml_text(robot).split("[[joint]]")
    last, loop = joints[-1].split("[[loop]]")
    text = "[[joint]]".join([head, *(f"{joint}\n[joint.effects]\n{hinge}\n" for joint in [*joints[:-1], last])])
    return parse_toml(f"{text}[[loop]]{loop}\n[loop.effects]\n{cut}\n", "rough.toml", ReadOptions())


def reordered(robot: Robot, order: Sequence[int]) -> Robot:
    """The same robot with its joints in another order, parents before children."""
    new: dict[int | None, int | None] = {None: None, **{j: k for k, j in enumerate(order)}}
    joints = []
    for j in order:
        joint, follows = robot.joints[j], robot.joints[j].follows
        if follows is not None:
            follows = Follows(tuple(order.index(k) for k in follows.joints), follows.ratios, follows.offset)
        joints.append(replace(joint, parent=new[joint.parent], follows=follows))
    return replace(
        robot,
        joints=tuple(joints),
        links=tuple(robot.links[j] for j in order),
        effects=tuple(robot.effects[j] for j in order),
        constants=tuple(robot.constants[j] for j in order),
        frames={name: replace(frame, joint=new[frame.joint]) for name, frame in robot.frames.items()},
        cuts=tuple(replace(cut, first=new[cut.first], second=new[cut.second]) for cut in robot.cuts),
        seed=None if robot.seed is None else tuple(robot.seed[j] for j in order),
    )


OBLIQUE = (math.pi / 2, -math.pi / 2, 0.4, -1.1, 0.8, 2.0, -0.6)
CUTS = ("spherical", "spherical", "spherical", "revolute", "prismatic")


def spatial_loops(seed: int) -> Robot:
    """One or two random loops in space on 0 to 2 random joints, beside one another or on one another; two letters.

    Every joint is at 0 in the seed.  Loops have one or two degrees of freedom each; what is nearly singular at the seed
    is drawn again.
    """
    rng = np.random.default_rng((991, seed))
    carrier = random_robot(4 * seed, n=int(rng.integers(0, 3)))
    while True:
        robot = _loops_on(replace(carrier, effects=()), rng)
        A = jacobian(robot, np.zeros(robot.n_joints))
        sizes = np.linalg.svd(A, compute_uv=False)
        if len(sizes) == len(A) and sizes[-1] > 0.05 * sizes[0]:
            passive = set(qr(A, pivoting=True)[2][: len(A)].tolist())
            joints = (replace(joint, is_passive=j in passive) for j, joint in enumerate(robot.joints))
            return _lettered(replace(robot, joints=tuple(joints), name=f"spatial{seed}"), carrier.n_joints, rng)


def _loops_on(carrier: Robot, rng: np.random.Generator) -> Robot:
    joints, cuts = list(carrier.joints), list[Cut]()
    poses: dict[int | None, Pose] = {None: shift()}
    for j, joint in enumerate(joints):
        poses[j] = compose(poses[joint.parent], (joint.R, joint.p))

    def hang(parent: int | None, count: int) -> int | None:
        for _ in range(count):
            place, j = _oblique(rng), len(joints)
            kind = "prismatic" if rng.random() < 0.12 else "revolute"
            joints.append(Joint(f"j{j + 1}", kind, parent, *place, f"link{j + 1}"))
            poses[j] = compose(poses[parent], place)
            parent = j
        return parent

    for _ in range(2 if rng.random() < 0.3 else 1):
        kind = str(rng.choice(CUTS))
        count = equation_count(Cut("", kind, None, None)) + int(rng.integers(1, 3))
        roots = [len(joints) - 1, carrier.n_joints - 1]  # the last link so far, or the carrier's
        root: int | None = int(rng.choice(roots))
        root = None if root < 0 else root
        before = int(rng.integers(1, count))
        first, second, place = hang(root, before), hang(root, count - before), _oblique(rng)
        there = compose(invert(poses[second]), poses[first], place)
        cuts.append(Cut(f"loop{len(cuts) + 1}", kind, first, second, place, there))
    links = (*carrier.links, *(random_ten(rng) for _ in joints[carrier.n_joints :]))
    return Robot("", tuple(joints), links=links, cuts=tuple(cuts), seed=(0.0,) * len(joints))


def _oblique(rng: np.random.Generator) -> Pose:
    a, b, c = (turn(float(rng.choice(OBLIQUE))) for _ in range(3))
    p = rng.uniform(0.1, 0.5, 3) * rng.choice((-1, 1), 3)
    return compose(shift(*(float(v) for v in p)), turn_z(a), turn_x(b), turn_z(c))


def _lettered(robot: Robot, first: int, rng: np.random.Generator) -> Robot:
    """The robot with letters for one coordinate of two joints of its loops."""
    joints, symbols = list(robot.joints), dict[str, float | None]()
    for j in rng.choice(np.arange(first, robot.n_joints), 2, replace=False).tolist():
        x, y, z = joints[j].p
        symbols[f"a{j + 1}"] = x
        joints[j] = replace(joints[j], p=(letter(f"a{j + 1}"), y, z))
    return replace(robot, joints=tuple(joints), symbols=symbols)
