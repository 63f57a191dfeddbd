"""Writes numbered lines as fast as they are read, and counts their bytes in a file.

Usage: ``flood.py COUNT BYTES``. The file holds the number of bytes that were taken so far, 8 bytes
little-endian. Once all are said it waits for the end of its input. When nobody reads any more it
ends with `NOBODY_LISTENS`.
"""

from __future__ import annotations

import os
import sys

BLOCK = 4096
LINE = 1024
NOBODY_LISTENS = 32


def block(number: int) -> bytes:
    """Returns one block of lines; the blocks are written one after the other."""
    first = number * BLOCK // LINE
    return b"".join(b"%01023d\n" % n for n in range(first, first + BLOCK // LINE))


def main(count: str, size: int) -> int:
    """Writes all blocks, counts, and returns the exit code."""
    fd = os.open(count, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for number in range(size // BLOCK):
        try:
            os.write(1, block(number))
        except BrokenPipeError:
            return NOBODY_LISTENS
        os.pwrite(fd, ((number + 1) * BLOCK).to_bytes(8, "little"), 0)
    while os.read(0, 1 << 16):
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
