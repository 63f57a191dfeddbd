"""The values of a recording: the recording itself, its frames and its events."""

from datetime import datetime
from typing import Any, NamedTuple

from attrs import frozen

STATES = ("recording", "complete", "unindexed", "incomplete")
LABELS = {"method": "method", "session": "session", "call": "tool_call", "terminal": "terminal"}
"""Keys of filters whose values are texts that a recording has, and the columns of these texts."""
_YEARS = range(1000, 9000)
"""Years that leave room in the calendar for time zones and for the times of frames."""


def read_time(text: str) -> datetime:
    """Reads when a recording began or ended.

    Raises:
        ValueError: it is not a time with a time zone, or too near an end of the calendar.
    """
    time = datetime.fromisoformat(text)
    if time.tzinfo is None or time.year not in _YEARS:
        raise ValueError(f"{text!r} is no time at which anything was recorded")
    return time


@frozen
class Recording:
    """One connection, from spawn to exit: the one row of table ``recording``."""

    id: str
    name: str
    tool_version: str
    started_at: str
    """ISO 8601, UTC."""
    ended_at: str | None = None
    state: str = "recording"
    """recording, complete, unindexed (a log is left) or incomplete (the writer died)."""
    command: str = "[]"
    """The agent's argv, a JSON list."""
    cwd: str = ""
    platform: str = ""
    dialect: str | None = None
    dialect_reason: str | None = None
    client_name: str | None = None
    client_version: str | None = None
    agent_name: str | None = None
    agent_version: str | None = None
    protocol_version: str | None = None
    exit_code: int | None = None
    exit_signal: int | None = None
    end_reason: str | None = None
    fault_plan: str | None = None
    seed: int | None = None
    redaction: str | None = None
    connection_id: str | None = None
    parent: str | None = None
    """The id of the recording of an outer acp-proxy."""
    note: str | None = None
    """Written by a person."""

    @property
    def agent_title(self) -> str:
        """The agent's name and version; empty if it named neither."""
        return " ".join(filter(None, (self.agent_name, self.agent_version)))

    @property
    def client_title(self) -> str:
        """The same for the client."""
        return " ".join(filter(None, (self.client_name, self.client_version)))


class FrameHead(NamedTuple):
    """A frame without its payload; a tuple, since there may be a million."""

    seq: int
    t_ns: int
    stream: str
    kind: str
    method: str | None
    exchange: int | None
    session: str | None
    turn: int | None
    tool_call: str | None
    terminal: str | None
    size: int


class FrameRun(NamedTuple):
    """A frame, or the first of several that an agent streamed without a pause: see `Rows.runs`."""

    seq: int
    t_ns: int
    stream: str
    kind: str
    raw: bytes | None
    """None for a line on stderr, or one that is too large to be held."""
    last_seq: int
    """The last frame of the run, which has no gaps."""
    last_ns: int

    @property
    def frames(self) -> int:
        """The number of frames in the run."""
        return self.last_seq - self.seq + 1


class Payload(NamedTuple):
    """A frame for a search; a tuple, since there may be a million."""

    seq: int
    t_ns: int
    stream: str
    kind: str
    method: str | None
    session: str | None
    turn: int | None
    tool_call: str | None
    raw: bytes | None
    """None if it is too large to be held."""


class RecordedEvent(NamedTuple):
    """Something that happened, other than a frame."""

    seq: int
    t_ns: int
    kind: str
    """start, eof, signal, exit, fault, undelivered, gap or note."""
    data: dict[str, Any]
