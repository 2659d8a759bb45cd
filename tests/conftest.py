"""What all tests share."""

from __future__ import annotations

import functools
import gc
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from minertia.cli import main
from minertia.codegen.kernels import build
from minertia.codegen.kernels import cache as libraries
from minertia.report import bundle
from tests import amount, pages

Run = Callable[..., tuple[int, str, str]]


# a suite that was started in the background inherits an ignored Ctrl-C, and so would every command it tries
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    amount.is_whole = not config.option.markexpr


def pytest_collection() -> None:
    """Modules and tests that are read stay: looking for what can go takes a fifth of the collection's time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """What thousands of tests are made of stays: it need not be looked through for what can go, again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A command run in this process: exit code, what it printed, and what it said on stderr."""
    for name in ("MINERTIA_DEBUG", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def command(*args: object) -> tuple[int, str, str]:
        code = main([str(arg) for arg in args])
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A real browser, or a skip with a sentence."""
    from tests.studio.browser import browser, need_browser

    need_browser()
    with browser() as found:
        yield found


@pytest.fixture(autouse=True, scope="session")
def kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Kernels that tests compile are kept with pytest's own cache, not in the user's, and compiled by one worker each.

    The compiled servo loop alone takes seconds, and workers need it at about the same time.
    """
    kept = getattr(request.config, "cache", None)  # None: pytest -p no:cacheprovider
    folder = Path(kept.mkdir("minertia-kernels")) if kept else tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(libraries.VARIABLE, str(folder))
        patch.setattr(build, "_compiled", _by_one(build._compiled, folder / "compiling"))
        yield


def _by_one(compiled: Callable[..., Path], file: Path) -> Callable[..., Path]:
    """The same function, but a process that finds another one compiling the same library waits for that."""
    try:
        import fcntl
    except ImportError:  # on Windows each process compiles for itself
        return compiled

    @functools.wraps(compiled)
    def alone(source: str, compiler: Any, flags: Any, fault: Any, key: str) -> Path:
        with open(file, "ab") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX, 1, int(key[:8], 16))  # one byte of the file for each library
            return libraries.find(key) or compiled(source, compiler, flags, fault, key)

    return alone


@pytest.fixture(autouse=True, scope="session")
def templates(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where the studio is not built, pages of templates that draw nothing: what pages hold is tested all the same."""
    if not pages.BUILT:
        bundle.STATIC = tmp_path_factory.mktemp("templates")
        pages.write_templates(bundle.STATIC)


@pytest.fixture
def no_pages(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """As in a checkout without the built studio."""
    monkeypatch.setattr(bundle, "STATIC", tmp_path_factory.mktemp("nothing"))
