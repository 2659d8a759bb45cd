"""Ctrl-C, and the other signals that end a command: one line, an exit code, and nothing half-written.

This module imports next to nothing, so that it is in force before anything that takes long is imported.
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
    """Within, a signal that ends the program raises KeyboardInterrupt, so that drafts are cleared away first."""
    _received.clear()
    if threading.current_thread() is not threading.main_thread():  # signals are not ours to handle there
        yield
        return
    known = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in known}
    changed = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    hook = sys.unraisablehook

    def not_lost(args: sys.UnraisableHookArgs) -> None:
        """Where Python drops an exception, as one that comes while it tidies up, the signal is sent once more."""
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
    """Whether such a signal came: an error that follows is its doing, whatever a library made of it."""
    return bool(_received)


def exit_code() -> int:
    """130 for Ctrl-C, 143 for a plain kill: 128 and the number of the signal, as shells have it."""
    return 128 + _received[0] if _received else INTERRUPTED


def say_stopped() -> None:
    """The one line; on a terminal it takes the place of the ^C that stands there."""
    start = "\r" if sys.stderr.isatty() else ""
    print(f"{start}minertia: stopped", file=sys.stderr, flush=True)


def _stop(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt
