"""Symbolic unidentifiable combinations of geometric corrections: rules of geometry.md for joints and symmetries.

A correction u of frame j that commutes with the motion of joint j has the same effect as Ad(P_(j+1))^-1 u of
frame j + 1.  A target that is invariant under some motions of the tool (their algebra H, in tool axes) makes
more combinations unidentifiable: from the tip inwards, with H'_j the largest part of H_j that ad(s_j) maps
into itself, every u with [s_j, u] in H'_j has in frame j the same effect as in frame j + 1.  A symmetry G of
the world acts the same way from the base outwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from minertia.algebra.linear import Linear
from minertia.algebra.polynomial import Poly
from minertia.algebra.quotient import Quotient
from minertia.algebra.scalar import Scalar, is_zero, mul, neg, total
from minertia.algebra.vec3 import Pose, Vec, Z, apply, cross, transpose, vadd, vsub
from minertia.identification.geometry.chain import SYMBOLS, Chain

Twist = tuple[Scalar, ...]  # linear part, then angular, at the origin and in the axes of a frame
Row = tuple[Scalar, ...]
ROUNDING = 1e-10  # what a number must exceed to count
AXES: tuple[Vec, ...] = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
TRANSLATIONS: tuple[Twist, ...] = tuple((*axis, 0, 0, 0) for axis in AXES)
ROTATIONS: tuple[Twist, ...] = tuple((0, 0, 0, *axis) for axis in AXES)
ALL = (*TRANSLATIONS, *ROTATIONS)


def hidden_relations(chain: Chain, tool: Sequence[Twist] = (), world: Sequence[Twist] = ()) -> list[Linear]:
    """Combinations of corrections without effect, as linear forms over `chain.columns`.

    tool, world: bases of the algebras of motions of the tool (in its axes) and of the world that do not change the
    measurement.
    """
    relations = [_form(chain.n, u) for u in tool]
    inner = _inner_symmetries(chain, tool)
    outer = _outer_symmetries(chain, world)
    relations += [_form(0, u) for u in outer[0][0]]
    for j in range(chain.n):
        turns = chain.is_hinge[j]
        passing = [*_preimage(turns, inner[j]), *_preimage(turns, outer[j][1])]
        relations += [_moved(chain, j, u) for u in _independent(passing)]
    return [form for form in relations if form.terms]


def _inner_symmetries(chain: Chain, tool: Sequence[Twist]) -> list[list[Twist]]:
    """Symmetry algebra H'_j of the target at each joint, in the notation of the module."""
    found: list[list[Twist]] = [[] for _ in range(chain.n)]
    H = list(tool)
    for j in reversed(range(chain.n)):
        H = _invariant(chain.is_hinge[j], [_outward(chain.placements[j + 1], u) for u in H])
        found[j] = H
    return found


def _outer_symmetries(chain: Chain, world: Sequence[Twist]) -> list[tuple[list[Twist], list[Twist]]]:
    """For each joint: G_j in frame j before its motion, and its largest part that the motion maps into itself."""
    found = []
    G = list(world)
    for j in range(chain.n):
        before = [_inward(chain.placements[j], u) for u in G]
        G = _invariant(chain.is_hinge[j], before)
        found.append((before, G))
    return found


def _form(frame: int, u: Twist) -> Linear:
    """Twist in the axes of a frame as a linear form over the columns."""
    cleaned = ((f"{symbol}{frame + 1}", clean(value)) for symbol, value in zip(SYMBOLS, u, strict=True))
    return Linear({name: value for name, value in cleaned if not is_zero(value)})


def _moved(chain: Chain, j: int, u: Twist) -> Linear:
    """Twist u of frame j, minus the twist of frame j + 1 that moves the tip in the same way: no effect together."""
    other = tuple(neg(s) for s in _inward(chain.placements[j + 1], u))
    return Linear({**_form(j, u).terms, **_form(j + 1, other).terms})


def _outward(pose: Pose, u: Twist) -> Twist:
    """Ad(P) u: a twist of the child frame expressed at the parent frame."""
    R, p = pose
    v, w = apply(R, _linear(u)), apply(R, _angular(u))
    return (*vadd(v, cross(p, w)), *w)


def _inward(pose: Pose, u: Twist) -> Twist:
    """Ad(P)^-1 u: a twist of the parent frame expressed at the child frame."""
    R, p = pose
    back = transpose(R)
    return (*apply(back, vsub(_linear(u), cross(p, _angular(u)))), *apply(back, _angular(u)))


def _linear(u: Twist) -> Vec:
    return u[0], u[1], u[2]


def _angular(u: Twist) -> Vec:
    return u[3], u[4], u[5]


def _bracket(turns: bool, u: Twist) -> Twist:
    """Lie bracket [s, u] for the unit twist s of a revolute or prismatic joint."""
    if turns:
        return (*cross(Z, _linear(u)), *cross(Z, _angular(u)))
    return (*cross(Z, _angular(u)), 0, 0, 0)


def _invariant(turns: bool, H: Sequence[Twist]) -> list[Twist]:
    """The largest subspace of H that ad(s) maps into itself."""
    while H:
        outside = _kernel([tuple(u[k] for k in range(6)) for u in H], 6)  # covectors that vanish on H
        images = [_bracket(turns, u) for u in H]
        rows = [tuple(_dot(covector, image) for image in images) for covector in outside]
        inside = _kernel(rows, len(H))
        smaller = [_combined(c, H) for c in inside]
        if len(smaller) == len(H):
            return list(H)
        H = smaller
    return []


def _preimage(turns: bool, H: Sequence[Twist]) -> list[Twist]:
    """Basis of all twists u with [s, u] in H."""
    outside = _kernel(list(H), 6) if H else list(ALL)
    images = [_bracket(turns, u) for u in ALL]
    rows = [tuple(_dot(covector, image) for image in images) for covector in outside]
    return _kernel(rows, 6)


def _independent(vectors: Sequence[Twist]) -> list[Twist]:
    """Linearly independent vectors that span the same space."""
    names = [str(k) for k in range(6)]
    return [
        tuple(form.terms.get(name, 0) for name in names)
        for form in reduced([_row(names, v) for v in vectors], names).values()
    ]


def _kernel(rows: Sequence[Row], size: int) -> list[Row]:
    """Basis of the null space of the rows."""
    names = [str(k) for k in range(size)]
    forms = reduced([_row(names, row) for row in rows], names)
    free = [name for name in names if name not in forms]
    found = []
    for chosen in free:
        values = {chosen: 1} | {pivot: neg(form.terms.get(chosen, 0)) for pivot, form in forms.items()}
        found.append(tuple(values.get(name, 0) for name in names))
    return found


def _row(names: Sequence[str], values: Row) -> Linear:
    cleaned = ((name, clean(value)) for name, value in zip(names, values, strict=True))
    return Linear({name: value for name, value in cleaned if not is_zero(value)})


def _dot(a: Row, b: Row) -> Scalar:
    return total(*(mul(x, y) for x, y in zip(a, b, strict=True)))


def _combined(factors: Row, vectors: Sequence[Twist]) -> Twist:
    return tuple(clean(total(*(mul(f, v[k]) for f, v in zip(factors, vectors, strict=True)))) for k in range(6))


def reduced(forms: Iterable[Linear], order: Sequence[str | tuple[str, ...]]) -> dict[str, Linear]:
    """Relations solved for the columns that come first in `order`: {column: form with coefficient 1 there}.

    A tuple in the order is a choice: the column with the largest coefficient is taken.  Every solved column
    occurs only in its own form; dependent relations vanish.
    """
    left = [form for form in forms if form.terms]
    solved: dict[str, Linear] = {}
    for entry in order:
        choice = (entry,) if isinstance(entry, str) else entry
        while found := _pivot(left, choice):
            place, name = found
            lead = left.pop(place)
            lead = _cleaned(lead / lead.terms[name])
            left = [form for other in left if (form := _without(other, lead, name)).terms]
            solved = {own: _without(form, lead, name) for own, form in solved.items()} | {name: lead}
    return solved


def _pivot(forms: Sequence[Linear], names: Sequence[str]) -> tuple[int, str] | None:
    """Pivot (index of a form, column): ones first, then the largest number, then the shortest symbolic one."""
    found = [(k, name) for k, form in enumerate(forms) for name in names if name in form.terms]
    return min(found, key=lambda at: _cost(forms[at[0]].terms[at[1]]), default=None)


def _cost(value: Scalar) -> tuple[int, float]:
    if isinstance(value, int) and abs(value) == 1:
        return 0, 0.0
    if isinstance(value, (int, float)):
        return 1, -abs(value)
    return 2, float(len(value.terms) if isinstance(value, Poly) else 1000)


def _without(form: Linear, lead: Linear, name: str) -> Linear:
    """Eliminate the column `name` from a form by another form whose coefficient there is 1."""
    factor = form.terms.get(name, 0)
    if is_zero(factor):
        return form
    rest = form - lead * factor
    if not isinstance(rest, Linear):
        return Linear({})
    return _cleaned(Linear({own: value for own, value in rest.terms.items() if own != name}))


def _cleaned(form: Linear) -> Linear:
    cleaned = {name: clean(value) for name, value in form.terms.items()}
    return Linear({name: value for name, value in cleaned.items() if not is_zero(value)})


def clean(value: Scalar) -> Scalar:
    """Coefficient with rounding removed: values near -1, 0 or 1 become exact, tiny terms vanish."""
    if isinstance(value, Poly):
        terms = {monomial: number for monomial, number in value.terms.items() if abs(number) > ROUNDING}
        return Poly(terms) if terms else 0
    if isinstance(value, Quotient):
        return value
    number = float(value)
    nearest = round(number)
    return nearest if abs(number - nearest) < ROUNDING and abs(nearest) <= 1 else value
