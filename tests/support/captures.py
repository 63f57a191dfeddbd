"""Reads the conversations of real agents in `tests/data/captures`."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import pytest
from attrs import field, frozen

from acp_proxy.recording.text_form.text_header import read_header
from acp_proxy.recording.text_form.text_reader import EventLine, FrameLine, LineReader
from tests.agents.player import STREAMS, capture_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[1] / "data" / "captures"
_TELLING = ("big", "killed", "parallel", "perm_cancel")
"""Scenarios with large lines, a signal, parallel tool calls, and a cancelled permission."""

Stream: TypeAlias = Literal["to-agent", "to-client", "stderr"]
_DIRECTIONS = {stream: direction for direction, stream in STREAMS.items()}


@frozen
class Read:
    """One chunk, as a single read returned it: a part of a frame, or several frames."""

    t_ns: int
    """Nanoseconds since the start of the capture."""
    stream: Stream
    data: bytes


@frozen
class StreamEnd:
    """The end of a stream."""

    t_ns: int
    stream: Stream


@frozen
class Signal:
    """A signal that the client sent to the agent."""

    t_ns: int
    signum: int


@frozen
class Exit:
    """The end of the agent's process."""

    t_ns: int
    returncode: int
    """The exit code; the negative number of a signal that killed the agent."""


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
        """Return all bytes of one stream."""
        return b"".join(read.data for read in self.reads(stream))

    @property
    def exit(self) -> Exit:
        """Returns how the agent ended: the last record of the capture."""
        last = self.records[-1]
        assert isinstance(last, Exit)
        return last


def all_captures() -> list[Path]:
    """Return the path of every capture, sorted."""
    return sorted(path for path in ROOT.glob("*/*") if ".jsonl" in path.suffixes)


def weighted_captures() -> Iterator[object]:
    """Yields all captures as parameters; captures that add little run only in `make soak`."""
    for path in all_captures():
        marks = [] if path.name.partition(".")[0] in _TELLING else [pytest.mark.soak]
        yield pytest.param(path, id=str(path.relative_to(ROOT)), marks=marks)


def weighted(paths: Iterable[Path]) -> Iterator[object]:
    """Yields paths as parameters of a test; three of four run only in `make soak`."""
    for number, path in enumerate(paths):
        yield pytest.param(path, id=path.name, marks=[pytest.mark.soak] if number % 4 else [])


def all_text_forms() -> list[Path]:
    """Return the path of every recording that is kept as its text form, sorted."""
    return sorted(ROOT.glob("*.jsonl"))


def load_text_form(path: Path) -> Capture:
    """Read a text form as a capture; each frame is one read, and the exit comes last."""
    header, *lines = path.read_bytes().splitlines(keepends=True)
    recording = read_header(header, Path("x.jsonl"))
    reader = LineReader()
    records: list[Record] = []
    ends: list[Exit] = []
    for line in map(reader.read, lines):
        match line:
            case FrameLine():
                data = line.raw + line.newline
                records.append(Read(line.t_ns, line.stream.value, data))
            case EventLine(kind="eof"):
                records.append(StreamEnd(line.t_ns, json.loads(line.data)["stream"]))
            case EventLine(kind="exit"):
                end = json.loads(line.data)
                ends.append(Exit(line.t_ns, end.get("code", -end.get("signal", 0))))
    assert len(ends) == 1, f"{path}: expected one exit, got {len(ends)}"
    started_at = datetime.fromisoformat(recording.started_at).timestamp()
    return Capture(tuple(json.loads(recording.command)), started_at, (*records, *ends))


def save(capture: Capture, path: Path) -> None:
    """Write a capture in the form that `tests/agents/player.py` reads."""
    lines: list[dict[str, Any]] = [
        {"t": 0, "event": "start", "argv": capture.argv, "wall": capture.started_at}
    ]
    for record in capture.records:
        line: dict[str, Any] = {"t": record.t_ns / 1e9}
        match record:
            case Read(_, stream, data):
                line |= {"dir": _DIRECTIONS[stream], "n": len(data)}
                line["raw_b64"] = base64.b64encode(data).decode()
            case StreamEnd(_, stream):
                line |= {"dir": _DIRECTIONS[stream], "event": "eof"}
            case Signal(_, signum):
                line |= {"event": "signal", "signum": signum}
            case Exit(_, returncode):
                line |= {"event": "exit", "returncode": returncode}
        lines.append(line)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def load(path: Path) -> Capture:
    """Read a capture from a file, which may be compressed with gzip.

    Raises:
        ValueError: the capture has no start or no exit.
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
