"""Writes a file to stdout and stdin to another file, both at the same time.

Usage: ``duplex.py SAY HEARD [SIZE...]``. The file ``SAY`` is written to stdout in chunks of the
given sizes, which are repeated; without sizes, in one chunk. Each chunk of stdin is written to
``HEARD`` before the next chunk is read.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading


def hear(path: str) -> None:
    """Writes all of stdin to a file."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    while data := os.read(0, 1 << 16):
        os.write(fd, data)


def say(path: str, sizes: list[int]) -> None:
    """Writes a file to stdout in chunks of the given sizes."""
    with open(path, "rb") as file:
        rest = memoryview(file.read())
    for size in itertools.cycle(sizes or [len(rest)]):
        if not rest:
            return
        rest = rest[os.write(1, rest[:size]) :]


if __name__ == "__main__":
    hearing = threading.Thread(target=hear, args=[sys.argv[2]])
    hearing.start()
    say(sys.argv[1], [int(size) for size in sys.argv[3:]])
    hearing.join()
