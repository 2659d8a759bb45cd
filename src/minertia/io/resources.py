"""Memory and threads of the process.

Logs may take 2 GB of memory, or the limit in MINERTIA_MEMORY. A few bytes of a compressed file can expand to gigabytes,
so readers count the unpacked bytes, and stop with a message that names the size and the variable.
"""

from __future__ import annotations

import os
import re
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from minertia.io.errors import InputError

VARIABLE, USUAL = "MINERTIA_MEMORY", 2_000_000_000  # bytes
KEPT = 30 * 2**20  # bytes of blocks that are not handed back, just below the most that glibc can be told
COPIES = 4  # of what is read that are in memory at once, when a file is unpacked, put together and filtered
_AMOUNT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kMGT]?)i?B?\s*", re.IGNORECASE)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def allowed() -> int:
    """Memory limit for all logs [bytes]."""
    said = os.environ.get(VARIABLE, "")
    if not said.strip():
        return USUAL
    match = _AMOUNT.fullmatch(said)
    if match is None or float(match[1]) * _UNITS[match[2].lower()] < 1e6:
        raise InputError(
            f"the environment variable {VARIABLE} is '{said[:40]}'; it must be an amount of memory "
            "of at least 1 MB, such as 8GB"
        )
    return int(float(match[1]) * _UNITS[match[2].lower()])


def room() -> int:
    """Memory limit of one log [bytes]."""
    return allowed() // COPIES


def too_large(what: str, size: float) -> str:
    """Error message about data of this size [bytes], which exceed the memory limit."""
    return (
        f"{what} {size / 1000000.0:.0f} MB, more than fits into the memory limit of {allowed() / 1000000000.0:g} "
        f"GB; set {VARIABLE}=8GB (or the memory available) to raise the limit"
    )


def processors() -> int:
    """Number of processors that this process may use."""
    return len(getattr(os, "sched_getaffinity", lambda pid: range(os.cpu_count() or 1))(0))


def keep_freed_memory() -> None:
    """Let the C library keep freed memory for reuse instead of returning it to the system.

    Otherwise, a tenth of the run time is spent on returning and requesting memory when many arrays of some
    megabytes are processed.  glibc keeps blocks that are smaller than the largest block it has mapped and
    freed so far; this function maps and frees one such block, without touching its pages.
    """
    bytes(KEPT)


def one_thread() -> AbstractContextManager[Any]:
    """Context with one BLAS thread: on small matrices, more threads are slower."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController  # importing it takes longer than what needs no threads

    return ThreadpoolController()  # looking for the libraries takes 10 ms, so once
