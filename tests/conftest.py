"""What the tests of the command line share."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from minertia.cli import main
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
def templates(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where the studio is not built, pages of templates that draw nothing: what pages hold is tested all the same."""
    if not pages.BUILT:
        bundle.STATIC = tmp_path_factory.mktemp("templates")
        pages.write_templates(bundle.STATIC)


@pytest.fixture
def no_pages(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """As in a checkout without the built studio."""
    monkeypatch.setattr(bundle, "STATIC", tmp_path_factory.mktemp("nothing"))
