"""Makes what is costly once, for all workers that run the tests side by side."""

import fcntl
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

T = TypeVar("T")


def once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], T]) -> T:
    """Returns what a function makes; the first worker that asks calls it, the others wait.

    Args:
        factory: knows the directory of this run of the tests.
        name: of what is made.
        make: makes it in an empty directory. Its value must be picklable.
    """
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    kept = shared / f"{name}.pickle"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            directory = Path(tempfile.mkdtemp(prefix=name, dir=shared))
            kept.write_bytes(pickle.dumps(make(directory)))
    value: T = pickle.loads(kept.read_bytes())
    return value
