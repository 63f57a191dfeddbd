"""Kills recorders while they work, and counts bytes that were forwarded but not recorded.

The kill comes at a random moment under one of three loads: as fast as possible, fast, or slow
enough for the indexer to catch up. After the kill, the client reads all bytes in its pipe, and a
command indexes the rest of the log. Then the recording must begin with all bytes that were read.
"""

from __future__ import annotations

import os
import select
import sqlite3
import subprocess
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import IO, TYPE_CHECKING

from attrs import frozen

from bench.build import BenchError
from bench.subjects import RECORDING, environment, finish_recording, proxy

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from bench.build import Programs

FRAMES = 10_000_000
SIZE = 300
LOADS = ((0, 0.1), (20, 0.6), (200, 1.2))
"""Microseconds between frames, and the longest time in seconds before the kill."""
SILENCE_S = 20.0
SAYS = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\n'
    b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"bench",'
    b'"prompt":[{"type":"text","text":"go"}]}}\n'
)


@frozen
class Kill:
    """The result of one kill."""

    gap_us: int
    after_s: float
    """Seconds from the first byte to the kill."""
    received: int
    """Bytes that the client read."""
    recorded: int
    """Bytes of the same direction that are in the recording."""
    lost: int
    """Bytes that the client read and that are not in the recording."""


def run_kills(
    programs: Programs, count: int, random: Random, each: Callable[[Kill], None]
) -> list[Kill]:
    """Kill `count` recorders; `each` is called with every result.

    Raises:
        BenchError: a recording cannot be read after the kill, or the output stayed open.
    """
    results = []
    for _ in range(count):
        gap_us, longest_s = random.choice(LOADS)
        kill = _kill(programs, gap_us, random.uniform(0, longest_s))
        each(kill)
        results.append(kill)
    return results


def _kill(programs: Programs, gap_us: int, after_s: float) -> Kill:
    with tempfile.TemporaryDirectory(prefix="acp-proxy-bench-") as name:
        folder = Path(name)
        agent = [str(programs.agent), "stream", str(FRAMES), str(SIZE), str(gap_us)]
        process = subprocess.Popen(
            proxy().command(folder, agent),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(folder),
            bufsize=0,
        )
        with process:
            assert process.stdin is not None
            assert process.stdout is not None
            try:
                process.stdin.write(SAYS)
                received = _read_until(process.stdout, after_s)
            finally:
                process.kill()
            received += _read_until(process.stdout, None)
        said = finish_recording(folder)
        recorded = _recorded(folder / RECORDING, said)
    lost = len(received) - _common(received, recorded)
    return Kill(gap_us, after_s, len(received), len(recorded), lost)


def _read_until(output: IO[bytes], after_s: float | None) -> bytes:
    """Read until some seconds after the first byte, or until the end."""
    data = bytearray()
    deadline = None
    descriptor = output.fileno()
    while deadline is None or (left := deadline - time.monotonic()) > 0:
        wait_s = SILENCE_S if deadline is None else left
        if not select.select([descriptor], [], [], wait_s)[0]:
            if deadline is None:
                raise BenchError(f"expected output or its end, got neither in {SILENCE_S:g} s")
            break
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            if after_s is not None:
                raise BenchError("the output ended before the kill")
            break
        if after_s is not None and deadline is None:
            deadline = time.monotonic() + after_s
        data += chunk
    return bytes(data)


def _recorded(file: Path, said: str) -> bytes:
    if not file.exists():
        raise BenchError(f"the kill left no recording: {said}")
    query = "select raw, newline from frames where stream = 'to-client' order by seq"
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
            return b"".join(
                bytes(raw) + newline.encode() for raw, newline in database.execute(query)
            )
    except sqlite3.Error as error:
        raise BenchError(f"the recording cannot be read: {error}; {said}") from None


def _common(a: bytes, b: bytes) -> int:
    """Return the number of bytes that two strings have in common at their beginning."""
    if b.startswith(a):
        return len(a)
    return next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )
