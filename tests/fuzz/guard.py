"""What every reader owes its user, whatever the file: a result, or one sentence, soon."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from types import FrameType

from minertia.io.errors import MinertiaError

SECONDS = 5.0  # far more than any of these small files needs, even on a busy machine
LONGEST = 1300  # characters of a sentence, with the path of a test in it
UNFIT = ("Traceback", "allow_pickle", " object at 0x", "<class ")  # what only a programmer understands


class TooSlow(BaseException):
    """A reader that does not come back; not an Exception, which a reader might catch."""


def assert_reads_or_says(read: Callable[[], object]) -> str | None:
    """Call a reader; its sentence, None where it read the file.  Anything else fails."""
    with warnings.catch_warnings(), time_limit():
        warnings.simplefilter("error")
        try:
            read()
        except MinertiaError as err:
            sentence = str(err)
        else:
            return None
    assert sentence.isprintable(), repr(sentence[:300])
    assert 10 < len(sentence) <= LONGEST, (len(sentence), sentence[:300])
    assert not any(word in sentence for word in UNFIT), sentence
    return sentence


def peak_megabytes() -> float:
    """The most memory this process ever had [MB]; 0 where that cannot be asked."""
    try:
        import resource
    except ImportError:
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


@contextlib.contextmanager
def time_limit() -> Iterator[None]:
    """Interrupt what takes too long, where the machine can do that."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"the reader was still busy after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
