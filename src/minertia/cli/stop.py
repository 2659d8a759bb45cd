"""Handling of Ctrl-C and other terminating signals: one message, an exit code, and no partial files.

This module imports almost nothing, so that it is active before slow imports start.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

INTERRUPTED = 130
AGAIN = 0.01  # s
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_received: list[int] = []


@contextmanager
def stopping() -> Iterator[None]:
    """Context in which terminating signals raise KeyboardInterrupt, so that temporary files are removed."""
    _received.clear()
    if threading.current_thread() is not threading.main_thread():  # signals are not ours to handle there
        yield
        return
    known = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in known}
    changed = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    hook = sys.unraisablehook

    def not_lost(args: sys.UnraisableHookArgs) -> None:
        """Send the signal again if Python discards its exception, as during clean-up."""
        if not issubclass(args.exc_type, KeyboardInterrupt):
            hook(args)
        elif _received:
            threading.Timer(AGAIN, send, _received[:1]).start()

    def send(number: int) -> None:
        if sys.unraisablehook is not_lost:  # else the command has ended meanwhile
            signal.raise_signal(number)

    try:
        sys.unraisablehook = not_lost
        for number in changed:
            signal.signal(number, _stop)
        yield
    finally:
        for number, handler in changed.items():
            signal.signal(number, handler)
        sys.unraisablehook = hook


def was_stopped() -> bool:
    """Whether a terminating signal was received; a later error is then its consequence."""
    return bool(_received)


def exit_code() -> int:
    """Exit code of the signal: 130 for Ctrl-C, 143 for SIGTERM (128 plus the signal number)."""
    return 128 + _received[0] if _received else INTERRUPTED


def say_stopped() -> None:
    """Print that the command was stopped; on a terminal the line replaces the ^C."""
    start = "\r" if sys.stderr.isatty() else ""
    print(f"{start}minertia: stopped", file=sys.stderr, flush=True)


def _stop(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt
