"""The contents of a recording as values for scripts, notebooks and tests.

The package `acp_proxy` also exports these attrs classes; ``attrs.asdict`` converts their objects to
dictionaries. Times and durations are in seconds. Frames have the same numbers as in ``acp-proxy
log``.
"""

from datetime import datetime
from typing import Any

from attrs import field, frozen

from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import MESSAGE_KINDS


@frozen
class RecordedFrame:
    """One line of a stream."""

    seq: int
    """The number of the frame, from 1, in the order in which the lines were read."""
    seconds: float | None
    """Seconds since the recording began; None if the times of the recording are unknown."""
    time: datetime | None
    """The date and time of day, with a time zone; None if the recording's start is unknown."""
    stream: str
    """``to-agent``, ``to-client`` or ``stderr``."""
    kind: str
    """request, response, error, notification, batch, invalid, blank or stderr."""
    method: str | None
    """The method of a request or notification; for an answer, the method of its request."""
    id: Any
    """The decoded JSON-RPC id; None if there is no id."""
    session: str | None
    turn: int | None
    tool_call: str | None
    terminal: str | None
    size: int
    """The length of the line in bytes, without the newline."""
    raw: bytes = field(repr=False)
    """The line without its newline; if it is larger than 16 MiB, only its first 64 KiB."""
    delivered: str
    """``full``; ``partial`` or ``none`` if a fault or the end of the connection withheld bytes."""
    fault: str | None
    """The fault rule that changed, delayed or withheld the frame; None if no rule did this."""
    pair: int | None
    """For a request, the frame number of its answer; for an answer, the frame number of its
    request."""
    latency: float | None
    """Seconds from the request to its answer; None if there is no answer, or if times are
    unknown."""

    @property
    def message(self) -> Any:
        """The message as Python values; None if the line is not a message."""
        return json_or_none(self.raw) if self.kind in MESSAGE_KINDS else None


@frozen
class RecordedTurn:
    """A prompt and all messages up to its stop reason."""

    id: int
    """The number of the turn in the recording, from 1."""
    session: str | None
    prompt: str
    """The beginning of the prompt, on one line."""
    stop_reason: str | None
    outcome: str | None
    """The outcome of the prompt request: result, error, cancelled or unanswered."""
    seconds: float | None
    """The duration of the turn; None if the turn never ended."""
    updates: int
    tool_calls: int
    first_seq: int
    last_seq: int | None


@frozen
class RecordedExchange:
    """A request and its answer."""

    id: int
    direction: str
    """The direction of the request: ``to-agent`` or ``to-client``."""
    method: str | None
    session: str | None
    request_seq: int
    response_seq: int | None
    """The number of the answer's frame; None if there is no answer."""
    seconds: float | None
    """Seconds from the request to its answer; None if the answer or the times are missing."""
    outcome: str | None
    """result, error, cancelled or unanswered."""


@frozen
class RecordedMessage:
    """A prompt, a message or a thought, with its chunks joined."""

    role: str
    """The source of the text: user, agent or thought."""
    text: str
    session: str | None
    turn: int | None
    """The number of the turn; None outside of turns, as in the history of a loaded session."""
    first_seq: int
    last_seq: int
    seconds: float | None
    """Seconds from the start of the recording to the first chunk; None if the times are unknown."""


@frozen
class RecordedToolCall:
    """A tool call in one turn, according to all messages about it."""

    id: str
    title: str
    kind: str
    """read, edit, execute or another kind; empty if the agent names no kind."""
    status: str
    """The latest status; empty if the agent names no status."""
    has_failed: bool
    session: str | None
    turn: int | None
    """The number of the turn; None outside of turns, as in the history of a loaded session."""
    first_seq: int
    last_seq: int
    seconds: float | None
    """The duration of the call; None if its end is not in the recording."""
