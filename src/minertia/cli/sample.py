"""`minertia sample`: robots drawn from the posterior of an identification."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minertia.cli.campaigns import map_for
from minertia.cli.options import AsJson, Force
from minertia.cli.progress import progress
from minertia.cli.terminal import diagnose, say, say_json, say_notes, say_table
from minertia.identification.logs.options import ColumnMap
from minertia.identification.posterior.options import FEWEST_FOR_BANDS, SampleOptions
from minertia.io.errors import InputError
from minertia.simulation.options import SampleFiles, ValidationOptions

if TYPE_CHECKING:
    from minertia.identification.samples import Samples

FORMAT = 1
MOSTLY = 0.5  # share of the prior from which a value is said to come from it
MOST_ROWS = 20
SAME_LINKS = (
    "all robots have the links of the robot's file, from which the fit took them: errors of its masses, which change "
    "gains and friction in proportion, are in no interval and no band"
)
MOST_LINKS = 8  # with other masses that a message lists
FAR = 2.0  # deviations (rms) from which prior or fit is said to contradict


def sample(
    result: Annotated[
        Path,
        typer.Argument(metavar="RESULT", help="Folder or model.toml that identify wrote.", show_default=False),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for samples.npz and the exports.")] = Path(
        "samples"
    ),
    options: SampleOptions = SampleOptions(),
    files: SampleFiles = SampleFiles(),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Draw physically consistent robots from the posterior of an identified model, to randomise a simulator.

    Parameters that the logs determine vary jointly, within the uncertainty of the estimate; all others vary
    according to the prior.
    """
    from minertia.identification.sampling import sample_model
    from minertia.simulation.sample_files import check_samples, write_samples

    check_samples(out, files.export, options.n, force=force)
    with progress(2) as tell:
        found = sample_model(result, options, tell=tell)
    notes = write_samples(out, found, files.export, force=force)
    if as_json:
        say_json(found.to_dict())
    else:
        _say(found)
    say_notes(notes, file=sys.stderr)
    diagnose(f"wrote {out}")


def _say(found: Samples) -> None:
    from minertia.io.notebook import plural
    from minertia.report.tables import Table

    prior, drawn = found.prior, found.drawn
    if found.is_massless:
        say(f"{found.model.nominal.name}: {plural(len(found), 'servo')}, without a load")
        say(f"prior: rotor inertia and friction within {prior['joints']:g} of {prior['centre']} (as a logarithm)")
    else:
        say(f"{found.model.nominal.name}: {plural(len(found), 'robot')}, each physically consistent")
        rest = f"rotor inertia and friction within {prior['joints']:g}"
        if prior["links"]:
            say(f"prior: links within {prior['links']:g} of {prior['centre']} (as a logarithm), {rest}")
        else:
            say(f"prior: {rest} of {prior['centre']} (as a logarithm); {SAME_LINKS}")
    if prior["mended"]:
        say(f"no body has the inertia that the file gives for {', '.join(prior['mended'])}: the nearest one was taken")
    if prior["distance"] > FAR:
        say(
            f"the logs contradict the prior: links are {prior['distance']:.2g} of its deviations away (rms); give a "
            "larger --prior"
        )
    if found.far_masses:
        say(_far_masses(found.far_masses))
    if prior["missed"] > FAR:
        say(
            f"the most probable robot misses the identified values by {prior['missed']:.2g} of their standard "
            "deviations (rms), as no physically consistent robot near the prior has them: the bands may be too narrow"
        )
    say(
        f"effective sample size: {100 * drawn['effective']:.0f} % of the draws or more; split R-hat at most "
        f"{drawn['rhat']:.2f} ({drawn['slowest']})"
    )
    if found.noise is not None and found.noise.told is not None:
        say(found.noise.told)
    if len(found) < FEWEST_FOR_BANDS:
        say(f"the scatter of the values needs at least {FEWEST_FOR_BANDS} samples; draw more with --n")
        return
    lines = found.summary()
    rows = tuple(
        (r["name"], f"{r['best']:.5g}", f"{r['low']:.4g}", f"{r['high']:.4g}", f"{100 * r['prior_share']:.0f} %")
        for r in sorted(lines, key=lambda r: -r["prior_share"])[:MOST_ROWS]
    )
    by_prior = sum(r["prior_share"] > MOSTLY for r in lines)
    say(f"{by_prior} of {len(lines)} values come mostly from the prior; the largest shares:")
    say_table(Table(("value", "most probable", "2.5 %", "97.5 %", "share of the prior"), rows, right=(1, 2, 3, 4)))


def _far_masses(found: Sequence[Mapping[str, Any]]) -> str:
    """Message on masses that are far from those of the robot file."""
    masses = [f"{m['link']} {m['mass']:.3g} kg ({m['robot_file']:.3g} kg)" for m in found]
    rest = f" and {len(masses) - MOST_LINKS} more" if len(masses) > MOST_LINKS else ""
    return (
        f"the logs move masses beyond 95 % of the prior's, in brackets those of the robot's file: "
        f"{', '.join(masses[:MOST_LINKS])}{rest}; check the robot's file, drive gains and effort units"
    )


def validated_as_samples(
    path: str,
    logs: list[str],
    how: ValidationOptions,
    reading: tuple[Path | None, ColumnMap],
    *,
    with_page: bool,
    as_json: bool,
) -> bool:
    """Show how much of logs the bands of samples hold, and return True; False where a path holds no samples.

    reading: file of columns, and options of reading logs.
    """
    from minertia.identification.samples import is_samples_file

    if not is_samples_file(path):
        if how.band is not None:
            raise InputError("--band applies to samples only; draw them with `minertia sample`, and give samples.npz")
        return False
    if how.simulator is not None or with_page:
        raise InputError("samples support neither a report page nor another simulator; use --json, or give a MODEL")
    _show_bands(path, logs, how.band, reading, as_json=as_json)
    return True


def _show_bands(
    path: str, logs: list[str], level: float | None, how: tuple[Path | None, ColumnMap], *, as_json: bool
) -> None:
    from minertia.identification.bands import LEVEL, predict_bands, summary
    from minertia.identification.samples import read_samples
    from minertia.report.tables import Table

    samples, level = read_samples(path), LEVEL if level is None else level
    with progress(2 * len(logs) + 1) as tell:
        mapping = map_for(samples.model, *how)
        found = predict_bands(samples, logs, level=level, columns=mapping, tell=tell)
    whole = summary(found)
    factors = None if samples.noise is None else samples.noise.factors(level)
    if as_json:
        say_json(
            {
                "format": FORMAT,
                "robot": samples.model.nominal.name,
                "samples": path,
                "band": level,
                "factor": None if factors is None else factors.tolist(),
                "bands": whole,
                "logs": [log.to_dict() for log in found],
            }
        )
        return
    say(f"{samples.model.nominal.name}: measured outputs inside the {100 * level:g} % bands; nothing was fitted")
    for name, own in whole.items():
        rows = tuple((r["joint"], f"{100 * r['covered']:.1f} %", f"{r['width']:.4g}") for r in own["per_joint"])
        say(f"band of {name}: {100 * own['covered']:.1f} % inside, mean width {own['width']:.4g}")
        say_table(Table(("joint", "inside", "mean width"), rows, right=(1, 2)))
    if factors is not None and samples.noise is not None:
        told = ", ".join(f"{f:.2f}" for f in factors)
        say(f"conformal factors of the residuals (held out: {samples.noise.held_out}): {told}")
        if samples.noise.touching is not None:
            told = ", ".join(f"{f:.2f}" for f in samples.noise.factors(level, touching=True))
            say(f"conformal factors where the simulated robot touches the ground: {told}")
    if samples.noise is not None and samples.noise.told is not None:
        say(samples.noise.told)
    fell = sum(log.fell_over for log in found)
    if fell:
        say(f"{fell} of {sum(log.draws for log in found)} simulations diverged and were left out")
    for log in found:
        for remark in log.remarks:
            say(f"- {log.log}: {remark}")
