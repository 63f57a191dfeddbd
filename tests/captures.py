"""Reads the captured conversations of real agents in `tests/data/captures`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from attrs import field, frozen

from tests.agents.player import STREAMS, capture_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent / "data" / "captures"

Stream: TypeAlias = Literal["to-agent", "to-client", "stderr"]


@frozen
class Read:
    """One chunk, as it came out of one read: part of a frame, or several."""

    t_ns: int
    """Nanoseconds since the start of the capture."""
    stream: Stream
    data: bytes


@frozen
class StreamEnd:
    """A stream ended."""

    t_ns: int
    stream: Stream


@frozen
class Signal:
    """The client signalled the agent."""

    t_ns: int
    signum: int


@frozen
class Exit:
    """The agent's process ended."""

    t_ns: int
    returncode: int
    """As subprocess has it: negative when it was killed by that signal."""


Record: TypeAlias = Read | StreamEnd | Signal | Exit


@frozen
class Capture:
    """One run of a real agent with a real client."""

    argv: tuple[str, ...]
    started_at: float
    """Seconds since the epoch."""
    records: tuple[Record, ...] = field(repr=False)

    def reads(self, stream: Stream) -> Iterator[Read]:
        """Yield the chunks of one stream in order."""
        for record in self.records:
            if isinstance(record, Read) and record.stream == stream:
                yield record

    def stream_bytes(self, stream: Stream) -> bytes:
        """Return everything that one stream carried."""
        return b"".join(read.data for read in self.reads(stream))

    @property
    def exit(self) -> Exit:
        """How the agent ended; every capture has it as its last record."""
        last = self.records[-1]
        assert isinstance(last, Exit)
        return last


def all_captures() -> list[Path]:
    """Return the path of every capture, sorted."""
    return sorted(path for path in ROOT.glob("*/*") if ".jsonl" in path.suffixes)


def load(path: Path) -> Capture:
    """Read one capture, gzipped or not.

    Raises:
        ValueError: the file is not a whole capture.
    """
    lines = list(capture_lines(path))
    if not lines or lines[0][0].get("event") != "start":
        raise ValueError(f"{path}: expected a start as the first line")
    start = lines[0][0]
    records = tuple(_record(line, data) for line, data in lines[1:])
    if not records or not isinstance(records[-1], Exit):
        raise ValueError(f"{path}: expected an exit as the last line")
    return Capture(tuple(start["argv"]), start["wall"], records)


def _record(line: dict[str, Any], data: bytes) -> Record:
    t_ns = round(line["t"] * 1e9)
    match line:
        case {"dir": direction, "n": _}:
            return Read(t_ns, _stream(direction), data)
        case {"dir": direction, "event": "eof"}:
            return StreamEnd(t_ns, _stream(direction))
        case {"event": "signal", "signum": signum}:
            return Signal(t_ns, signum)
        case {"event": "exit", "returncode": returncode}:
            return Exit(t_ns, returncode)
    raise ValueError(f"expected a read, an eof, a signal or an exit, got {line}")


def _stream(direction: str) -> Stream:
    if direction not in STREAMS:
        raise ValueError(f"expected one of {', '.join(STREAMS)}, got {direction}")
    return cast("Stream", STREAMS[direction])
