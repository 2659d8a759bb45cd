"""One BLAS thread for small matrices: with more, threads only wait for one another."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """A context in which linear algebra runs on one thread."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes 10 ms, so once
