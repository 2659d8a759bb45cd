"""Work that ends its process where a log is named so, as a damaged file can end the library that reads it."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

from minertia.fleet import add

honest = add.work


def work(batch: add.Batch) -> list[add.AddedLog]:
    found = []
    for task in batch.tasks:
        if "killer" in task.log.url:
            os.kill(os.getpid(), signal.SIGKILL)
        found += honest(replace(batch, tasks=(task,)))
    return found
