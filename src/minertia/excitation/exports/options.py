"""Options of the controller files of a trajectory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from minertia.excitation.options import RATES
from minertia.io.schema import Declared, check, option


def _forms() -> Iterable[str]:
    from minertia.excitation.exports.table import EXPORTS

    return EXPORTS


@dataclass(frozen=True, slots=True, repr=False)
class MotionFiles(Declared):
    """Controller files of a trajectory: sampling rate and export formats."""

    rate: float | None = option(
        None,
        "Sampling rate of the trajectory files for controllers.",
        unit="Hz",
        range=RATES,
        command="export-rate",
        otherwise="ten times --samples over the trajectory; for exports the rate of their controllers",
    )
    exports: tuple[str, ...] = option(
        (),
        "Write the trajectory, with the approach and return trajectories of --from, for this controller; may be "
        "repeated.",
        choices=_forms,
        key="export",
        command="export",
    )

    def __post_init__(self) -> None:
        check(self)
        object.__setattr__(self, "exports", tuple(dict.fromkeys(self.exports)))
