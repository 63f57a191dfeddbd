"""A process keeps SQLite's locks on a recording that it reads more than once at the same time."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from acp_proxy.store.files import database
from acp_proxy.store.files.side_files import check_side_files, is_open, needs_no_side_file
from acp_proxy.store.reader import RecordingReader
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# SQLite's documentation of the file format names the bytes that a reader locks.
LOCKED = """
import fcntl, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
try:
    fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
except OSError:
    print("locked")
"""


def is_locked(path: Path) -> bool:
    """Returns whether another process would find SQLite's shared lock on a database."""
    command = [sys.executable, "-c", LOCKED, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout != ""


@pytest.mark.parametrize(
    "look",
    [
        lambda path: RecordingReader(path).close(),
        lambda path: database.open_readonly(path).close(),
        lambda path: check_side_files(path, to_write=True),
        database.is_sqlite,
        database.fold,
        needs_no_side_file,
    ],
    ids=["reader", "readonly", "side files", "header", "fold", "immutable"],
)
def test_a_second_look_at_an_open_database_keeps_its_locks(
    tmp_path: Path, look: Callable[[Path], object]
) -> None:
    """While a process reads a database, opening it again in the same process drops no lock.

    Without the lock, a recorder that ends would remove the write-ahead log that is still used.
    """
    path = tmp_path / "hello.db"
    shutil.copy(DIRECTORY / "hello.db", path)
    writer = database.create(path)
    with RecordingReader(path) as reader:
        reader.connection.execute("BEGIN")
        assert len([*reader.rows()]) > 0
        assert is_open(path)
        assert is_locked(path)
        look(path)
        assert is_locked(path)
    database.close(writer)
    assert not is_open(path)
    assert not is_locked(path)
