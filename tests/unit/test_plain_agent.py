"""The agent of the tests that has no SDK sends the bytes of the recorded agent, which has one."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acp_proxy.store.reader import RecordingReader
from tests.agents.make_recordings import RECORDINGS
from tests.agents.plain_agent import Agent
from tests.support.indexed_rows import query

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]


def recorded(name: str) -> list[tuple[str, bytes]]:
    """Returns the frames of a recording with their directions."""
    sql = "SELECT stream, raw, newline FROM frames WHERE stream <> 'stderr' ORDER BY seq"
    with RecordingReader(ROOT / "recordings" / f"{name}.db") as reader:
        rows = query(reader.connection, sql)
    return [(stream, raw + newline.encode()) for stream, raw, newline in rows]


@pytest.mark.parametrize("name", RECORDINGS)
def test_it_sends_every_recorded_byte_in_order(name: str) -> None:
    """The tests' agent without an SDK, `plain_agent`, sends every byte of a recording in order."""
    out, expected = io.BytesIO(), bytearray()

    def lines() -> Iterator[bytes]:
        for stream, line in recorded(name):
            if stream == "to-agent":
                assert out.getvalue() == expected
                yield line
            else:
                expected.extend(line)

    Agent(lines(), out).serve()
    assert out.getvalue() == expected != b""


def test_it_needs_nothing_but_the_standard_library() -> None:
    """The tests' agent without an SDK, `plain_agent`, needs only the standard library."""
    command = [sys.executable, "-S", "-m", "tests.agents.plain_agent"]
    hello = b"".join(line for stream, line in recorded("hello") if stream == "to-agent")
    result = subprocess.run(command, input=hello, capture_output=True, cwd=ROOT, check=False)
    said = b"".join(line for stream, line in recorded("hello") if stream == "to-client")
    assert (result.returncode, result.stdout, result.stderr) == (0, said, b"")
