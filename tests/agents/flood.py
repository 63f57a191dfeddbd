"""Writes numbered lines as fast as they are read, and stores the number of written bytes.

Usage: ``flood.py COUNT BYTES``. The file COUNT holds the number of bytes that were written so far,
as 8 bytes, little-endian. After the last line, the program waits for the end of its input. If its
output is closed, it exits with `NOBODY_LISTENS`.
"""

from __future__ import annotations

import os
import sys

BLOCK = 4096
LINE = 1024
NOBODY_LISTENS = 32


def block(number: int) -> bytes:
    """Returns a block of lines; the program writes the blocks in the order of their numbers."""
    first = number * BLOCK // LINE
    return b"".join(b"%01023d\n" % n for n in range(first, first + BLOCK // LINE))


def main(count: str, size: int) -> int:
    """Writes all blocks, updates the count, and returns the exit code."""
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
