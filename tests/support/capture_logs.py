"""Creates capture logs for tests, and reads their records."""

from __future__ import annotations

import os
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from acp_proxy.record.capture.log_writer import CaptureLog
from acp_proxy.store.log.log_reader import LogReader, LogRecord

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def new_log(*, max_size: int | None = None) -> Iterator[CaptureLog]:
    """Creates a capture log in a temporary directory; both are deleted at the end."""
    with TemporaryDirectory() as directory:
        log = CaptureLog.create(f"{directory}/x.db.log", max_size=max_size)
        try:
            yield log
        finally:
            os.close(log.fd)


@contextmanager
def reader(path: str | Path) -> Iterator[LogReader]:
    """Opens a capture log for reading."""
    fd = os.open(path, os.O_RDONLY)
    try:
        yield LogReader(fd)
    finally:
        os.close(fd)


def records(log: LogReader, start: int = 0, limit: int = 1 << 30) -> list[LogRecord]:
    """Returns all records after a logical offset; ``limit`` bytes are read at a time."""
    results: list[LogRecord] = []
    while more := list(log.records(results[-1].end if results else start, limit)):
        results += more
    return results


def read_all(path: str | Path, limit: int = 1 << 30) -> list[LogRecord]:
    """Returns all records of a capture log."""
    with reader(path) as log:
        return records(log, log.base, limit)
