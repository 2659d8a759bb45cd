"""Base geometric parameters: retained corrections and the combinations they represent."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from minertia.algebra.linear import Linear
from minertia.algebra.scalar import Scalar, is_zero, neg
from minertia.identification.geometry.chain import Chain
from minertia.identification.geometry.hidden import reduced


@dataclass(frozen=True)
class KeptColumns:
    """Retained columns, each with the combination of corrections regrouped into it."""

    columns: tuple[str, ...]
    forms: tuple[Linear, ...]
    dropped: dict[str, Linear]


def kept_columns(chain: Chain, relations: Sequence[Linear], without: Sequence[str] = ()) -> KeptColumns:
    """Solve relations for the columns to eliminate; tool and base absorb adjacent zeros, other joints keep theirs.

    without: columns excluded beforehand, since other unknowns have the same effect.
    """
    gone = set(without)
    trimmed = [Linear({name: c for name, c in form.terms.items() if name not in gone}) for form in relations]
    solved = reduced(trimmed, _order(chain))
    names = [name for name in chain.columns if name not in solved and name not in gone]
    forms = []
    for name in names:
        # a relation says dropped + c kept = 0, so that the kept one takes over -c of the dropped one
        taken: dict[Hashable, Scalar] = {
            own: neg(form.terms[name]) for own, form in solved.items() if not is_zero(form.terms.get(name, 0))
        }
        forms.append(Linear({name: 1, **taken}))
    return KeptColumns(tuple(names), tuple(forms), solved)


def _order(chain: Chain) -> list[str | tuple[str, ...]]:
    """Columns in order of elimination, first to eliminate first.

    First those of the last joint that the tool absorbs, then unidentifiable tool rotations, positions and
    rotations about the direction of prismatic joints, then of each frame the part along the previous axis
    (leaving the four DH parameters), then lengths, offsets, zeros and the base.
    """
    n = chain.n
    last = ("RZ", "DZ") if chain.is_hinge[-1] else ("DX", "DY", "RZ", "DZ")
    order: list[str | tuple[str, ...]] = [f"{s}{n}" for s in last] if n > 1 else []
    order += [(f"RX{n + 1}", f"RY{n + 1}", f"RZ{n + 1}")]
    slides = [j + 1 for j, turns in enumerate(chain.is_hinge) if j and not turns]  # frame 1 is the base, which stays
    order += [f"{s}{j}" for j in slides for s in ("DX", "DY", "RZ")]
    inner = range(2, n + 1)
    order += [(f"RY{j}", f"RX{j}") for j in inner] + [(f"DY{j}", f"DX{j}") for j in inner]
    order += [f"DZ{j}" for j in reversed(inner)] + [f"RZ{j}" for j in reversed(inner)]
    order += [f"{s}1" for s in ("RZ", "DZ", "DX", "DY", "RX", "RY")] + [f"{s}{n + 1}" for s in ("DX", "DY", "DZ")]
    return order
