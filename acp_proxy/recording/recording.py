"""The values of a recording: the recording itself, its frames and its events."""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cached_property, wraps
from typing import Any, Literal, NamedTuple, TypeGuard, TypeVar, cast, get_args

from attrs import asdict, field, fields, frozen

from acp_proxy.base.limits import SAFE_NUMBER
from acp_proxy.recording.notes import WHOLE, read_notes

STATES = ("recording", "complete", "unindexed", "incomplete")
LABELS = {"method": "method", "session": "session", "call": "tool_call", "terminal": "terminal"}
"""The filter keys whose values are labels of frames, each with the column of the label."""
_YEARS = range(1000, 9000)
"""The accepted years of a date. Python can represent years beyond these limits, so a time zone or
the time of a frame can be added to any accepted date."""


def read_time(text: str) -> datetime:
    """Reads the start or end time of a recording.

    Raises:
        ValueError: the text is not a time with a time zone, or its year is not accepted.
    """
    time = datetime.fromisoformat(text)
    if time.tzinfo is None or time.year not in _YEARS:
        raise ValueError(f"{text!r} has no time zone, or its year is out of range")
    return time


def clock(started_at: str, t_ns: int = 0, *, has_zone: bool = True) -> datetime:
    """Returns a date and time of day to show to people.

    Args:
        started_at: when the recording began, in ISO 8601.
        t_ns: nanoseconds since the recording began.
        has_zone: whether the recording's time zone is known. If True, the result is in the time
            zone of this computer; if False, it is the time in the source, without a zone.
    """
    time = datetime.fromisoformat(started_at) + timedelta(microseconds=t_ns // 1000)
    return time.astimezone() if has_zone else time.astimezone(UTC).replace(tzinfo=None)


Lost = Literal[
    "bytes", "command", "date", "ending", "middle", "parts", "start", "stderr", "times", "values",
    "zone",
]  # fmt: skip
LOST: dict[Lost, str] = {
    "bytes": "how messages were spelled",
    "command": "the agent's command and directory",
    "date": "on which day it was",
    "ending": "how the connection ended",
    "middle": "whether lines are missing in between",
    "parts": "parts of messages, which somebody has left out",
    "start": "whether lines are missing at the beginning",
    "stderr": "what the agent wrote to stderr",
    "times": "when messages were sent",
    "values": "some values, which the source writes alike",
    "zone": "the time zone of its times",
}
"""The facts that the source of an imported recording may lack, and the meaning of each."""
Fact = Literal[Lost, "directions", "durations"]
"""The facts that commands, views and rules may need.

``directions`` is known if no direction was inferred. ``durations`` (the times between frames) is
known if each frame has its own time.

The other facts are the names in `Lost`. If the facts before a colon are known, the sentence after
the colon is true:

- ``middle``: nothing was sent between two neighbouring frames.
- ``middle`` and ``ending``: a request without a recorded answer was not answered.
- ``start`` and ``middle``: every line that was sent before the recording's end is in the recording.
"""
Function = TypeVar("Function", bound=Callable[..., Any])
_SOURCE = re.compile("[a-z0-9][a-z0-9-]{0,39}")
_METHOD = re.compile(r"[\w.:/-]{1,100}", re.ASCII)


def needs(*needed: Fact, unknown: Any = None) -> Callable[[Function], Function]:
    """Declares the facts that a function needs. If a fact is unknown, the function is skipped.

    The first argument of the function is a recording, or an object with the attribute
    ``recording``. If the recording is None, all its facts count as known.

    Args:
        *needed: the facts that must be known.
        unknown: the result if one of the facts is not known.
    """

    def declare(function: Function) -> Function:
        @wraps(function)
        def known(of: Any, *args: Any, **kwargs: Any) -> Any:
            recording: Recording | None = getattr(of, "recording", of)
            if recording is not None and not recording.knows(*needed):
                return unknown
            return function(of, *args, **kwargs)

        return cast("Function", known)

    return declare


@frozen
class NamedAnswer:
    """An answer whose request is not in the recording; the source names the request's method."""

    seq: int
    method: str


@frozen
class Origin:
    """The source of an imported recording, and what is missing or inferred in the recording."""

    source: str
    """The name of the log format that was imported: ``jetbrains``, ``zed`` and so on."""
    lost: tuple[Lost, ...] = ()
    """The facts that the source lacks: keys of `LOST`, sorted."""
    resolution_ns: int | None = None
    """The unit of the times in the source, in nanoseconds; None if the unit is unknown or there are
    no times."""
    inferred_directions: int = 0
    """The number of frames whose direction was inferred from their content."""
    inferred_times: int = 0
    """The number of frames that got the time of the previous frame. Their own time is unknown, or
    is before that time."""
    skipped: int = 0
    """The number of lines that could not be read and were left out."""
    named_answers: tuple[NamedAnswer, ...] = field(default=(), metadata={"optional": True})
    """The answers whose requests are not in the recording, if the source names the methods; at most
    `LONG_LIST`."""

    @cached_property
    def unknown(self) -> set[Fact]:
        """The facts that the source lacks, and all facts that depend on one of these facts."""
        unknown: set[Fact] = {*self.lost}
        unknown |= {"date", "durations"} if "times" in self.lost else set()
        unknown |= {"durations"} if self.inferred_times else set()
        return unknown | ({"directions"} if self.inferred_directions else set())

    @property
    def title(self) -> str:
        """The name of the source, in texts for people."""
        return _TITLES.get(self.source, self.source)


_TITLES = {"lines": "a plain log", "acpx": "a stream in the form of acpx"}
_ORIGIN_KINDS: dict[str, Any] = {
    "source": str, "lost": (list, tuple), "resolution_ns": (int, type(None)),
    "inferred_directions": int, "inferred_times": int, "skipped": int,
    "named_answers": (list, tuple),
}  # fmt: skip


def read_origin(values: Any) -> Origin:
    """Reads an origin from decoded JSON.

    Raises:
        ValueError: the value is not an origin, or contains a lost fact that is not in `LOST`.
    """
    if not isinstance(values, dict) or "source" not in values:
        raise ValueError("expected an origin with a source")
    for name, value in values.items():
        if name not in _ORIGIN_KINDS:
            raise ValueError(f"unknown member of an origin: {name!r:.40}")
        if isinstance(value, bool) or not isinstance(value, _ORIGIN_KINDS[name]):
            raise ValueError(f"{name!r} of an origin has a wrong type")
        if isinstance(value, int) and not 0 <= value < SAFE_NUMBER:
            raise ValueError(f"{name!r} of an origin is out of range: {value!r:.40}")
    if not _SOURCE.fullmatch(values["source"]):
        raise ValueError("expected only small letters, digits and hyphens in 'source' of an origin")
    # Earlier versions wrote `answers` when only the client's answers were missing.
    lost = ["middle" if word == "answers" else word for word in values.get("lost", ())]
    if unknown := [word for word in lost if word not in get_args(Lost)]:
        raise ValueError("expected each word in 'lost' of an origin to be one of"
                         f" {', '.join(LOST)}, got {unknown[0]!r:.40}")  # fmt: skip
    named = tuple(map(_named_answer, values.get("named_answers", ())))
    return Origin(**{**values, "lost": tuple(sorted(set(lost))), "named_answers": named})


def _named_answer(value: Any) -> NamedAnswer:
    if isinstance(value, dict) and value.keys() == {"seq", "method"}:
        seq, method = value["seq"], value["method"]
        if type(seq) is int and 0 < seq < SAFE_NUMBER and is_method(method):
            return NamedAnswer(seq, method)
    raise ValueError("expected objects with 'seq' and 'method' in 'named_answers' of an origin")


def is_method(value: Any) -> TypeGuard[str]:
    """Whether a value can be the method of an imported answer: a short text of usual characters."""
    return isinstance(value, str) and _METHOD.fullmatch(value) is not None


def origin_values(origin: Origin) -> dict[str, Any]:
    """Returns an origin as a value that JSON can encode; the inverse of `read_origin`."""
    values = {**asdict(origin), "lost": list(origin.lost)}
    if not origin.named_answers:
        del values["named_answers"]
    return values


@frozen
class Recording:
    """One connection, from the agent's start to its exit: the only row of table ``recording``."""

    id: str
    name: str
    tool_version: str
    started_at: str
    """When the recording began, in ISO 8601 and UTC."""
    ended_at: str | None = None
    state: str = "recording"
    """``recording``, ``complete``, ``unindexed`` (a part is only in the log) or ``incomplete`` (the
    recorder died)."""
    command: str = "[]"
    """The agent's argv, as a JSON list."""
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
    """The id of the recording that an outer acp-proxy made; None if there is no outer acp-proxy."""
    note: str | None = None
    """A person's notes about the recording and about its frames and events; see `read_notes`."""
    origin: Origin | None = None
    """The source of an imported recording; None for a recording made by acp-proxy."""

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> "Recording":
        """Makes a recording from the row of a database.

        Raises:
            Exception: the row has a value that no recorder writes; the exception may be of any
                kind.
        """
        values = {name: row[name] for name in TYPES if name in row}
        if values.get("origin") is not None:
            values["origin"] = read_origin(json.loads(values["origin"]))
        recording = cls(**values)
        for name, types in TYPES.items():
            if not isinstance(getattr(recording, name), types):
                raise TypeError(name)
        read_time(recording.started_at)
        read_time(recording.ended_at or recording.started_at)
        " ".join(json.loads(recording.command))
        return recording

    @cached_property
    def row_notes(self) -> dict[int, str]:
        """The notes about frames and events, by the numbers of the frames and events."""
        return {seq: text for seq, text in read_notes(self.note).items() if seq != WHOLE}

    def knows(self, *needed: Fact) -> bool:
        """Whether all given facts are known; always true for a recording made by acp-proxy."""
        return self.origin is None or self.origin.unknown.isdisjoint(needed)

    @property
    @needs("date")
    def known_start(self) -> str | None:
        """When the recording began; None if only the time of its import is known."""
        return self.started_at

    @needs("times")
    def known_ns(self, t_ns: int | None) -> int | None:
        """Returns ``t_ns``, a time since the start; None if the recording's times are unknown."""
        return t_ns

    @needs("middle", "ending", unknown=True)
    def is_open(self, *, live: bool) -> bool:
        """Whether an open request may get an answer later, or may have one that was not imported.

        Args:
            live: whether the recorder is running.
        """
        return live

    @property
    @needs("start", unknown="(not known)")
    def unnamed(self) -> str:
        """The text that replaces the unknown name of a peer."""
        return "(did not say its name)"

    @property
    def words(self) -> list[str]:
        """The agent's command as words; empty if the column is damaged."""
        try:
            words = json.loads(self.command)
        except (ValueError, RecursionError):
            return []
        return [str(word) for word in words] if isinstance(words, list) else []

    @property
    def has_zone(self) -> bool:
        """Whether the time zone of the recording's times is known."""
        return self.origin is None or "zone" not in self.origin.lost or self.known_start is None

    def clock(self, t_ns: int = 0) -> datetime:
        """Returns the date and time of day to show to people; see the function `clock`.

        Args:
            t_ns: nanoseconds since the recording began.
        """
        return clock(self.started_at, t_ns, has_zone=self.has_zone)

    @property
    def step_ns(self) -> int:
        """The resolution in nanoseconds of an imported recording's times; 0 if it is not known.

        A duration that is shorter than the resolution is unknown.
        """
        return 0 if self.origin is None else self.origin.resolution_ns or 0

    @property
    def shown_state(self) -> str:
        """The state to show to people; ``imported`` for an imported recording."""
        return self.state if self.origin is None else "imported"

    @property
    def agent_title(self) -> str:
        """The agent's name and version; empty if the agent sent neither."""
        return " ".join(filter(None, (self.agent_name, self.agent_version)))

    @property
    def client_title(self) -> str:
        """The client's name and version; empty if the client sent neither."""
        return " ".join(filter(None, (self.client_name, self.client_version)))


TYPES = {column.name: get_args(column.type) or (column.type,) for column in fields(Recording)}
"""For each field of `Recording`: the types that the field's value may have."""


class StoredFrame(NamedTuple):
    """A frame with its labels. It is a tuple, since there may be a million frames."""

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
    raw: bytes | None = None
    """The line; None if the line was not requested, or is too large to keep."""


class FrameRun(NamedTuple):
    """A frame, or a run of frames that an agent streamed without a pause; see `Rows.runs`.

    The fields whose names do not begin with ``last`` describe the first frame of the run.
    """

    seq: int
    t_ns: int
    stream: str
    kind: str
    raw: bytes | None
    """The line; None for a line of stderr, and for a line that is too large to keep."""
    last_seq: int
    """The number of the run's last frame. The run includes all frames up to this frame."""
    last_ns: int
    """The time of the run's last frame."""

    @property
    def frames(self) -> int:
        """The number of frames in the run."""
        return self.last_seq - self.seq + 1


class RecordedEvent(NamedTuple):
    """Something that happened in a connection, other than a frame."""

    seq: int
    t_ns: int
    kind: str
    """start, eof, signal, exit, fault, undelivered, gap or note."""
    data: dict[str, Any]
