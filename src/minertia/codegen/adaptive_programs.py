"""Adaptive control on the ten inertial parameters of every link, which stay physically consistent at every step.

The pseudo-inertia P of a link (a positive definite 4 x 4 matrix) is stored as a factor, P = G G'.  With s =
qd - qdr the natural adaptation law is P' = -rate P L P, where tr(L P) = s'Y x for the link's parameters x and
regressor Y (Lee, Kwon and Park 2018).  One step multiplies the factor: G (1 - M/2 + M M/8), M = rate period
G' L G divided by sqrt(1 + tr(M M)).  The eigenvalues of that M lie between -1 and 1, those of the factor
between 0.62 and 1.63, so P stays positive definite for any step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from minertia.algebra.matrix import inner, product, summed, transposed
from minertia.algebra.scalar import Scalar, add, div, is_zero, mul, neg, sqrt, sub, total
from minertia.algebra.vec3 import ZERO, Vec, dot
from minertia.codegen.draft import EFFORT, Built, Draft
from minertia.codegen.motion_programs import reference_ports
from minertia.codegen.program import Port
from minertia.dynamics.effects import effect_torques
from minertia.dynamics.kinematics import LinkMotion, base_velocity, joint_rates, passages, velocity_of
from minertia.dynamics.reference_motion import reference_motions, reference_torques
from minertia.dynamics.regressor import unit_wrenches
from minertia.robot.parameters import LINK_SYMBOLS
from minertia.robot.robot import Robot

Square = list[list[Scalar]]
FACTORS = "factors G of the links' pseudo-inertias G G', 4 x 4 each, row by row"
TEN = f"{' '.join(LINK_SYMBOLS)} of each link, in its joint's frame"
BASE_FIRST = ", a floating base first"
# entry of the pseudo-inertia of each parameter that is one, with its sign
PLACES = {"XY": (0, 1, -1), "XZ": (0, 2, -1), "YZ": (1, 2, -1), "MX": (0, 3, 1), "MY": (1, 3, 1), "MZ": (2, 3, 1)}


def _adaptive_start(d: Draft) -> Built:
    """Program for the initial state: Cholesky factors of the pseudo-inertias."""
    n = _bodies(d)
    given, port = Port("chi", (n, 10), _text(d, TEN)), Port("G", (n, 16), _text(d, FACTORS))
    values = d.read(given)
    given_ten = [dict(zip(LINK_SYMBOLS, values[10 * k :], strict=False)) for k in range(n)]
    none: Square = [[0] * 4 for _ in range(4)]
    factors = [
        none if k - d.robot.is_floating in d.robot.massless else _factor(_pseudo_inertia(x))
        for k, x in enumerate(given_ten)
    ]
    return [given], [port], [entry for G in factors for row in G for entry in row]


def _adaptive_law(d: Draft) -> Built:
    n, bodies = d.robot.n_velocity, _bodies(d)
    v_port, a_port = reference_ports(d)
    damping = Port("damping", (n,), "gains of tau = ... - damping (qd - qdr) [N m s/rad, N s/m]")
    rate = Port("rate", (bodies,), "gain of each link's adaptation times the time between two calls")
    held = Port("G", (bodies, 16), _text(d, FACTORS))
    qd, qdr = d.read(d.qd_port), d.read(v_port)
    factors = _squares(d.read(held), bodies)
    links = [_ten(G) for G in factors]
    known = [{s: v for s, v in x.items() if s not in LINK_SYMBOLS} for x in d.chi()]
    chi = [link | effects for link, effects in zip(links, known, strict=True)]
    closed = d.closed(qd, d.read(a_port))
    state, reference = closed.along_reference(qd, qdr)
    along = (state.q, state.qd, reference, state.qdd)
    rigid = reference_torques(closed.tree, chi, *along)
    effects = effect_torques(closed.tree, chi, state, rigid, closed.of_active(d.warmth))
    s = [sub(a, b) for a, b in zip(qd, qdr, strict=True)]
    resisted = [neg(mul(k, e)) for k, e in zip(d.read(damping), s, strict=True)]
    tau = summed(closed.efforts(summed(rigid, effects)), resisted)
    slopes = _slopes(closed.tree, reference_motions(closed.tree, *along), state.q, closed.rates(s))
    after = [_stepped(*each) for each in zip(factors, slopes, d.read(rate), strict=True)]
    ports = [Port("tau", (n,), EFFORT), Port("chi", (bodies, 10), f"{_text(d, TEN)}, of this call")]
    outputs = [*tau, *(link[symbol] for link in links for symbol in LINK_SYMBOLS)]
    outputs += [entry for G in after for row in G for entry in row]
    inputs = [d.q_port, d.qd_port, v_port, a_port, damping, rate, held, *d.warmth_ports]
    return inputs, [*ports, Port("G_next", held.shape, held.meaning)], outputs


def _bodies(d: Draft) -> int:
    """Number of links that are adapted."""
    return d.robot.n_joints + d.robot.is_floating


def _text(d: Draft, meaning: str) -> str:
    return meaning + BASE_FIRST * d.robot.is_floating


def _squares(entries: Sequence[Scalar], count: int) -> list[Square]:
    return [[list(entries[16 * k + 4 * i : 16 * k + 4 * i + 4]) for i in range(4)] for k in range(count)]


def _pseudo_inertia(x: Mapping[str, Scalar]) -> Square:
    """Pseudo-inertia matrix [[sum m r r', ms], [ms', M]]."""
    half = mul(0.5, total(x["XX"], x["YY"], x["ZZ"]))
    P: Square = [[0] * 4 for _ in range(4)]
    for k, symbol in enumerate(("XX", "YY", "ZZ")):
        P[k][k] = sub(half, x[symbol])
    P[3][3] = x["M"]
    for symbol, (i, j, sense) in PLACES.items():
        P[i][j] = P[j][i] = mul(sense, x[symbol])
    return P


def _ten(G: Square) -> dict[str, Scalar]:
    """Ten inertial parameters of the pseudo-inertia G G'."""
    P = [[inner(G[i], G[j]) for j in range(4)] for i in range(4)]
    found = {s: add(P[a][a], P[b][b]) for s, a, b in (("XX", 1, 2), ("YY", 0, 2), ("ZZ", 0, 1))}
    found |= {symbol: mul(sense, P[i][j]) for symbol, (i, j, sense) in PLACES.items()}
    return found | {"M": P[3][3]}


def _factor(P: Square) -> Square:
    G: Square = [[0] * 4 for _ in range(4)]
    for j in range(4):
        G[j][j] = sqrt(sub(P[j][j], total(*(mul(G[j][k], G[j][k]) for k in range(j)))))
        for i in range(j + 1, 4):
            G[i][j] = div(sub(P[i][j], total(*(mul(G[i][k], G[j][k]) for k in range(j)))), G[j][j])
    return G


def _slopes(
    tree: Robot, motions: Sequence[LinkMotion], q: Sequence[Scalar], s: Sequence[Scalar]
) -> list[dict[str, Scalar]]:
    """Y^T s of each link as {parameter: value}: power of the unit parameter's wrench at the joint rates s."""
    twists = list[tuple[Vec, Vec]]()
    v, w = base_velocity(s) if tree.is_floating else (ZERO, ZERO)
    ways, rates = passages(tree, q), joint_rates(tree, s)
    for joint, way, rate in zip(tree.joints, ways, rates, strict=True):
        above = (w, v) if joint.parent is None else twists[joint.parent]
        twists.append(velocity_of(*above, way, joint, rate))
    moving = [(w, v)] * tree.is_floating + twists
    return [_powers(*twist, motion) for twist, motion in zip(moving, motions, strict=True)]


def _powers(w: Vec, v: Vec, motion: LinkMotion) -> dict[str, Scalar]:
    """Power of the unit wrench of each parameter along a twist."""
    return {name: add(dot(w, m), dot(v, f)) for name, (f, m) in unit_wrenches(motion).items()}


def _stepped(G: Square, slope: Mapping[str, Scalar], rate: Scalar) -> Square:
    """Pseudo-inertia factor after one adaptation step."""
    L: Square = [[0] * 4 for _ in range(4)]
    for k, (a, b) in enumerate((("YY", "ZZ"), ("XX", "ZZ"), ("XX", "YY"))):
        L[k][k] = add(slope[a], slope[b])
    L[3][3] = slope["M"]
    for symbol, (i, j, sense) in PLACES.items():
        L[i][j] = L[j][i] = mul(0.5 * sense, slope[symbol])
    M = _symmetric(transposed(G), product(L, G))
    size = total(*(mul(M[i][i], M[i][i]) for i in range(4)))
    size = add(size, mul(2, total(*(mul(M[i][j], M[i][j]) for i in range(4) for j in range(i)))))
    step = div(rate, sqrt(add(1, mul(mul(rate, rate), size))))
    M = [[mul(step, entry) for entry in row] for row in M]
    square = _symmetric(M, M)
    T = [[sub(mul(0.125, square[i][j]), mul(0.5, M[i][j])) for j in range(4)] for i in range(4)]
    more = product(G, T)
    return [[add(G[i][j], more[i][j]) for j in range(4)] for i in range(4)]


def _symmetric(A: Square, B: Square) -> Square:
    """Product A B that is known to be symmetric: only its upper half is computed."""
    columns = transposed(B)
    upper = {
        (i, j): total(*(mul(a, b) for a, b in zip(A[i], columns[j], strict=True) if not is_zero(a)))
        for i in range(4)
        for j in range(i, 4)
    }
    return [[upper[min(i, j), max(i, j)] for j in range(4)] for i in range(4)]


ADAPTIVE_BUILDERS: dict[str, Callable[[Draft], Built]] = {
    "adaptive_start": _adaptive_start,
    "adaptive_law": _adaptive_law,
}
