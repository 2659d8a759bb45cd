"""Every reader, on noise and on files with something broken in them: it reads the file, or says one sentence."""

from __future__ import annotations

import gzip
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minertia.cli.limits import read_limits
from minertia.excitation.trajectory import Trajectory
from minertia.identification.campaigns.read import read_campaign, recorded_campaign
from minertia.identification.logs.columns_file import read_columns
from minertia.identification.logs.header import read_to_audit
from minertia.identification.logs.options import ColumnMap
from minertia.identification.logs.readers import read_recording
from minertia.identification.model_file import read_model
from minertia.io.errors import MinertiaError
from minertia.robot.files import read_robot
from minertia.robot.formats.expression import ExpressionError, expression_text, parse_expression
from tests.fuzz import seeds
from tests.fuzz.guard import assert_reads_or_says, peak_megabytes
from tests.fuzz.strategies import mutated_bytes, mutated_gzip, mutated_text, mutated_toml, noise
from tests.identification.logs import chain

TWO = chain("RR")
NAMED = chain("RR", names="joint{}")
PLANAR = read_robot("planar2r")


Seeds = Sequence[bytes]


@dataclass(frozen=True)
class Case:
    """A kind of file: how it is read, valid ones (made in a folder of their own), and how many are broken, and how."""

    name: str
    file: str
    read: Callable[[Path], object]
    seeds: Callable[[Path], Seeds]
    broken: Callable[[Seeds], st.SearchStrategy[bytes]] = mutated_text
    examples: int = 2000
    needs: tuple[str, ...] = ()


def texts(*given: str) -> Callable[[Path], Seeds]:
    return lambda folder: [text.encode() for text in given]


def document(given: dict) -> Callable[[Path], Seeds]:
    return texts(tomli_w.dumps(given))


def any_log(path: Path) -> None:
    read_recording(path, TWO)
    read_to_audit(path)


def any_bag(path: Path) -> None:
    read_recording(path, NAMED, ColumnMap(effort_unit="Nm"))


def any_model(path: Path) -> None:
    known = read_model(path)
    recorded_campaign(known.nominal, known.campaign)


def metadata(folder: Path) -> Seeds:
    seeds.bag(folder / "bag", "db3")
    return [(folder / "bag" / "metadata.yaml").read_bytes()]


def stages(folder: Path) -> Seeds:
    """USD stages; one is read here, since OpenUSD takes seconds to start."""
    (folder / "first.usda").write_text(seeds.USD[0])
    read_robot(folder / "first.usda")
    return texts(*seeds.USD)(folder)


PACKED = gzip.compress(seeds.csv_text().encode(), mtime=0)
BAG, META = "seeds/bag/bag.db3", "seeds/bag/metadata.yaml"
CASES = (
    Case("URDF", "r.urdf", read_robot, texts(*seeds.URDF)),
    Case("MJCF", "r.mjcf", read_robot, texts(*seeds.MJCF), needs=("mujoco",)),
    Case("USD", "r.usda", read_robot, stages, examples=1000, needs=("pxr",)),
    Case("XML", "r.xml", read_robot, texts(*seeds.URDF), examples=200),
    Case("SYMORO", "r.par", read_robot, texts(*seeds.PAR)),
    Case("robot table", "r.toml", read_robot, document(seeds.DH_DOCUMENT), mutated_toml),
    Case("loops", "r.toml", read_robot, document(seeds.LOOP_DOCUMENT), mutated_toml, 1000),
    Case("columns", "c.toml", read_columns, document(seeds.COLUMNS_DOCUMENT), mutated_toml),
    Case("campaign", "c.toml", read_campaign, document(seeds.CAMPAIGN_DOCUMENT), mutated_toml),
    Case("limits", "l.toml", lambda p: read_limits(PLANAR, [str(p)]), document(seeds.LIMITS_DOCUMENT), mutated_toml),
    Case("motion", "m.csv", Trajectory.load, lambda f: [seeds.motion_text().encode()]),
    Case("model", "m.toml", any_model, lambda f: [seeds.model().encode()], mutated_toml, 1000),
    Case("CSV", "log.csv", any_log, texts(seeds.csv_text(), seeds.csv_text(";"))),
    Case("spaced", "log.txt", any_log, texts(seeds.csv_text(" ")), examples=1000),
    Case("gzip", "log.csv.gz", any_log, lambda f: [PACKED], mutated_gzip, 1000),
    Case("NPZ", "log.npz", any_log, lambda f: [seeds.npz()], mutated_bytes, 2000),
    Case("MAT", "log.mat", any_log, lambda f: [seeds.mat(), seeds.mat(True)], mutated_bytes, 2000),
    Case("MAT 7.3", "log.mat", any_log, lambda f: [seeds.hdf5(f / "a")], mutated_bytes, 1000, ("h5py",)),
    Case("Parquet", "log.parquet", any_log, lambda f: [seeds.parquet()], mutated_bytes, 2000, ("pyarrow",)),
    Case("MCAP", "log.mcap", any_bag, lambda f: [seeds.bag(f / "a", "mcap")], mutated_bytes, 1000, ("rosbags",)),
    Case("bag", BAG, any_bag, lambda f: [seeds.bag(f / "bag", "db3")], mutated_bytes, 500, ("rosbags",)),
    Case("bag metadata", META, lambda p: any_bag(p.parent), metadata, mutated_text, 500, ("rosbags",)),
)
SAMPLE = 0.025  # of the examples, in the quick tests
NOISE = 150  # files of noise of every kind
TIMES = float(os.environ.get("MINERTIA_FUZZ", "1"))  # for longer runs by hand
QUIET = settings(derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def check(case: Case, folder: Path, inputs: st.SearchStrategy[bytes], examples: int) -> None:
    """Run a reader on many inputs."""
    path = folder / case.file

    @settings(QUIET, max_examples=examples)
    @given(inputs)
    def holds(data: bytes) -> None:
        path.write_bytes(data)
        assert_reads_or_says(lambda: case.read(path))

    before = peak_megabytes()
    holds()
    assert peak_megabytes() - before < 300, "a reader took more memory than its small files can hold"


def each_case(test: Callable[..., None]) -> Callable[..., None]:
    return pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])(test)


@each_case
def test_broken_files(case: Case, tmp_path: Path) -> None:
    broken_files(case, tmp_path, SAMPLE)


@pytest.mark.slow
@each_case
def test_many_broken_files(case: Case, tmp_path: Path) -> None:
    broken_files(case, tmp_path, TIMES)


def broken_files(case: Case, tmp_path: Path, times: float) -> None:
    """Files of a kind that are whole are read, and broken ones are read or refused."""
    for package in case.needs:
        pytest.importorskip(package)
    folder = tmp_path / "seeds"
    folder.mkdir()
    (tmp_path / "run.csv").write_text(seeds.csv_text())
    valid = case.seeds(folder)
    for data in valid:
        (tmp_path / case.file).write_bytes(data)
        assert assert_reads_or_says(lambda: case.read(tmp_path / case.file)) is None
    check(case, tmp_path, case.broken(valid), int(case.examples * times))


@each_case
def test_noise(case: Case, tmp_path: Path) -> None:
    any_noise(case, tmp_path, NOISE // 3)


@pytest.mark.slow
@each_case
def test_much_noise(case: Case, tmp_path: Path) -> None:
    any_noise(case, tmp_path, int(NOISE * TIMES))


def any_noise(case: Case, folder: Path, examples: int) -> None:
    for package in case.needs:
        pytest.importorskip(package)
    (folder / case.file).parent.mkdir(parents=True, exist_ok=True)
    check(case, folder, noise(), examples)


ANY_EXPRESSION = mutated_text([text.encode() for text in seeds.EXPRESSIONS]) | noise()


@settings(QUIET, max_examples=int(3000 * SAMPLE))
@given(ANY_EXPRESSION)
def test_expressions(data: bytes) -> None:
    reads_or_refuses_expression(data)


@pytest.mark.slow
@settings(QUIET, max_examples=int(3000 * TIMES))
@given(ANY_EXPRESSION)
def test_many_expressions(data: bytes) -> None:
    reads_or_refuses_expression(data)


def reads_or_refuses_expression(data: bytes) -> None:
    """Numbers in files may be small expressions; what is none is refused, and what is read can be written again."""
    text = data.decode(errors="replace")

    def read() -> None:
        try:
            value = parse_expression(text)
        except ExpressionError as err:  # the readers add file and field
            raise MinertiaError(str(err)) from None
        assert parse_expression(expression_text(value)) == value

    assert_reads_or_says(read)


def any_array(shape: tuple[int, ...], kind: str, fill: float) -> np.ndarray:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of values that a kind cannot hold
        return np.full(shape, fill).astype(kind)


ARRAYS = st.dictionaries(
    st.sampled_from(("t", "q", "q1", "q2", "dq", "tau", "tau1", "tau2", "", "a.b", "é")),
    st.builds(
        any_array,
        st.sampled_from(((), (0,), (1,), (12,), (12, 2), (2, 12), (12, 2, 2), (0, 2), (1, 1), (12, 300))),
        st.sampled_from(("f8", "f4", "f2", "i8", "u1", "b1", "c16", "U4", "S3", "M8[s]", "O")),
        st.sampled_from((0, 1, -1.5, np.inf, 7e4)),
    ),
    max_size=6,
)


def archive_is_read_or_refused(folder: Path, arrays: dict[str, np.ndarray]) -> None:
    np.savez(folder / "any.npz", **arrays)
    assert_reads_or_says(lambda: any_log(folder / "any.npz"))


@settings(QUIET, max_examples=60)
@given(ARRAYS)
def test_archives_of_any_arrays(tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, np.ndarray]) -> None:
    """Whole archives with arrays of every kind and shape under names that mean something."""
    archive_is_read_or_refused(tmp_path_factory.getbasetemp(), arrays)


@pytest.mark.slow
@settings(QUIET, max_examples=int(1200 * TIMES))
@given(ARRAYS)
def test_many_archives_of_any_arrays(tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, np.ndarray]) -> None:
    archive_is_read_or_refused(tmp_path_factory.getbasetemp(), arrays)
