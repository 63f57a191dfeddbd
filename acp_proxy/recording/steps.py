"""A recording as a replay reads it: the steps in order, and the payloads by frame number.

A step is small; a payload is read only when it is sent or compared. Steps are read while the
conversation proceeds, so a recording of any size starts to play at once.

A message of the client is *awaited* if frames of the agent wait for it. An awaited message is
*optional* if the client may omit it: after a second of silence nothing waits for it any longer.

If a message names no session, another *name* in the message determines its lane: the lane in which
an earlier message introduced the name.

- An update of the parent session introduces a child session.
- The request that opens a session introduces its MCP servers.
- ``mcp/connect`` names a server, and its answer introduces a connection. ``mcp/message`` and
  ``mcp/disconnect`` name the connection.

The older method ``_mcp/request`` names the server.
"""

from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from attrs import define, frozen

from acp_proxy.protocol.dialects import CANCEL, CANCEL_REQUEST, HANDSHAKE, OPENING, PUSH
from acp_proxy.protocol.json_text import json_or_none, member, params_of
from acp_proxy.protocol.jsonrpc import Kind, Message, read

ANNOUNCEMENT = b"subagent_update"
"""The kind of the update that announces a child session."""
_OF_SERVER = ("serverId", "acpId", "id", "name", "serverName", "mcpServerName")
"""Members with the id or the name of a server, in the server's declaration or in later messages."""


def session_name(session: str) -> str:
    """Returns the name that determines the lane of a session's messages."""
    return f"session {session}"


def is_mcp(method: str | None) -> bool:
    """Whether a method belongs to MCP over ACP."""
    return (method or "").removeprefix("_").startswith("mcp/")


def announced_session(raw: bytes) -> str | None:
    """Returns the id of the child session that an update announces; None without such a session."""
    update = member(json_or_none(raw), "params", "update") if ANNOUNCEMENT in raw else None
    is_one = member(update, "sessionUpdate") == ANNOUNCEMENT.decode()
    session = member(update, "sessionId")
    return session if is_one and isinstance(session, str) else None


def introduced(method: str | None, raw: bytes) -> tuple[str, ...]:
    """Returns the names that a message introduces; later messages with these names share its lane.

    Args:
        method: the method of the message; for an answer, the method of the request.
        raw: the message.
    """
    if method in OPENING:
        servers = params_of(json_or_none(raw)).get("mcpServers")
        declared = servers if isinstance(servers, list) else []
        return tuple(name for server in declared for name in _servers(server))
    if method == "mcp/connect":
        connection = member(json_or_none(raw), "result", "connectionId")
        return (f"connection {connection}",) if isinstance(connection, str) else ()
    session = announced_session(raw)
    return () if session is None else (session_name(session),)


def referred(raw: bytes) -> tuple[str, ...]:
    """Returns the names in an MCP message that identify its connection or its server."""
    params = params_of(json_or_none(raw))
    connection = params.get("connectionId")
    return (f"connection {connection}",) if isinstance(connection, str) else _servers(params)


def _servers(holder: Any) -> tuple[str, ...]:
    values = (member(holder, name) for name in _OF_SERVER)
    return tuple(f"server {value}" for value in values if isinstance(value, str))


REPLIES = ("response", "error")
"""Kinds of messages that answer a request."""


@frozen
class Ask:
    """A request of the agent that a step contains."""

    exchange: int
    rpc_id: str
    method: str | None
    reply_seq: int | None
    """The frame number of the recorded reply; None if there was no reply."""


@frozen
class Answer:
    """Says which of the client's requests a step answers."""

    exchange: int
    rpc_id: str
    """The id of the request as JSON; the answer repeats this id."""


@lru_cache(maxsize=2)
def _batch(raw: bytes) -> tuple[Message, dict[str | None, Message]]:
    """Reads a batch; cached, since callers ask for its messages one by one.

    Returns:
        The batch, and its requests by id; of several requests with the same id, the first.
    """
    whole = read(raw)
    requests = (request for request in reversed(whole.members) if request.kind is Kind.REQUEST)
    return whole, {request.rpc_id: request for request in requests}


class Wire(NamedTuple):
    """A recorded frame with the exact bytes of its line."""

    raw: bytes
    newline: str
    t_ns: int
    kind: str
    method: str | None

    def message_of(self, step: "Step") -> bytes:
        """Returns the message of a client's step; the message may be a member of a batch."""
        if step.member is None:
            return self.raw
        whole, _ = _batch(self.raw)
        return whole.members[step.member].raw or b""

    def request_of(self, ask: Ask) -> Message:
        """Returns a request of the agent; the request may be a member of a batch."""
        if not self.raw.lstrip().startswith(b"["):
            return read(self.raw)
        whole, requests = _batch(self.raw)
        return requests.get(ask.rpc_id, whole)


@define
class Step:
    """A frame, or a member of a batch that the client sent."""

    seq: int
    t_ns: int
    from_agent: bool
    kind: str
    method: str | None = None
    """The message's method; for an answer, the method of the request."""
    rpc_id: str | None = None
    session: str | None = None
    """The session of the frame or of its exchange. A request that creates a session has the new
    session."""
    names_session: bool = False
    """Whether the message itself contains the session's id."""
    exchange: int | None = None
    request_seq: int | None = None
    response_seq: int | None = None
    answers: tuple[Answer, ...] = ()
    """The requests that a frame of the agent answers; several if the frame is a batch."""
    asks: tuple[Ask, ...] = ()
    """The requests in a frame of the agent; several if the frame is a batch."""
    member: int | None = None
    """The index of the message in a batch of the client; None if there is no batch."""
    introduces: tuple[str, ...] = ()
    """The names that the step introduces in its lane; see `introduced`."""
    belongs_to: tuple[str, ...] = ()
    """The names that determine the lane of a message without a session."""
    lane: str | None = None
    """The session whose lane the step uses; None for the connection's lane. Set by `LaneFinder`."""
    follows_withheld: bool = False
    """Whether the client may omit the step because the step depends on a withheld request."""

    @property
    def key(self) -> tuple[int, int]:
        """The frame number and the index in a client's batch (else 0); unique to the step."""
        return self.seq, self.member or 0

    @property
    def title(self) -> str:
        """The name of the step in reports."""
        name = self.method or self.kind
        return f"the answer to {name}" if self.is_reply else name

    @property
    def is_reply(self) -> bool:
        """Whether the step answers a request."""
        return self.kind in REPLIES

    @property
    def is_awaited(self) -> bool:
        """Whether frames of the agent wait for this message of the client; see docs/replay.md.

        Frames wait for requests, replies and cancellations. The exceptions are:

        - the cancellation of a request that is not open, which has no effect;
        - an error without a request, with which the client only reports an unreadable line.
        """
        if self.is_reply or self.method == CANCEL_REQUEST:
            return self.exchange is not None
        return self.kind == "request" or (self.kind == "notification" and self.method == CANCEL)

    @property
    def is_push(self) -> bool:
        """Whether the step is a piece of a terminal's output that the client pushes."""
        return self.kind == "request" and self.method == PUSH and not self.from_agent

    @property
    def is_optional(self) -> bool:
        """Whether the client may omit the step.

        Optional steps are, for example, pieces of a terminal's output, and requests that belong to
        no session, except the handshake.
        """
        if self.kind == "invalid" or self.is_push or self.follows_withheld:
            return True
        return self.kind == "request" and self.lane is None and self.method not in HANDSHAKE


class Script(Protocol):
    """A recording as a replay reads it."""

    agent_left_at: int | None
    """The number of the event ``eof`` with which the agent ended its output by itself. None if the
    agent stopped because its input ended or because of a signal, or if the reason is unknown."""
    gave_up_at: int | None
    """The number of the event ``signal`` with which the client gave up on the agent; None without
    such an event. After this signal, the agent sent frames only because it was told to end."""
    dialect: str | None
    redaction: str | None
    """How the recording was masked: ``secrets``, ``private`` or ``none``. None in recordings of
    early versions."""

    def read(self) -> list[Step]:
        """Returns the next steps in recorded order; an empty list at the end."""

    def wire(self, seq: int) -> Wire:
        """Returns a frame with the bytes of its line."""

    def later(self, method: str | None, kind: str, after: int) -> Iterator[Step]:
        """Yields later messages of the client, in order, without moving the reading position.

        Args:
            method: the method of the messages.
            kind: the kind of the messages.
            after: a frame number; only messages with a higher number are yielded.
        """


class LaneFinder:
    """Assigns each step a lane, in recorded order: the lane of an ACP session or of the connection.

    A session's lane begins at the request that creates or loads the session. A session without this
    request, such as a subagent's session, has no lane of its own. It uses the lane of the frame
    that announces the session, or else the lane of the most recently active session.

    MCP over ACP uses the lane of the session that declared the server. A frame of the agent without
    a session, such as an invalid line, uses the lane of the previous frame.
    """

    def __init__(self) -> None:
        self._of_exchange: dict[int, str | None] = {}
        self._of_session: dict[str, str] = {}
        self._of_name: dict[str, dict[str, None]] = {}
        """By name: the lanes in which the name was introduced, the latest lane last."""
        self._last: str | None = None
        self._last_session: str | None = None
        self._unreadable: deque[Step] = deque()

    def place(self, step: Step) -> None:
        """Assigns a lane to a step."""
        if step.kind == "invalid" and not step.from_agent:
            self._unreadable.append(step)
        elif step.kind == "error" and step.from_agent and step.exchange is None:
            self._pair_with_unreadable(step)
        step.lane = self._last = lane = self._lane(step)
        for exchange in (*(ask.exchange for ask in step.asks), step.exchange):
            if exchange is not None:
                self._of_exchange.setdefault(exchange, lane)
        if lane is not None:
            self._last_session = lane
            for name in step.introduces:
                lanes = self._of_name.setdefault(name, {})
                lanes.pop(lane, None)
                lanes[lane] = None

    def lane_of(self, session: str | None) -> str | None:
        """Returns the lane of a session; for an unknown session, the id of the session."""
        return self._of_session.get(session or "", session)

    @property
    def joined(self) -> dict[str, str]:
        """For each session that has no lane of its own: the lane that the session uses."""
        return {name: lane for name, lane in self._of_session.items() if name != lane}

    def _pair_with_unreadable(self, step: Step) -> None:
        """Pairs an error that answers no request with the oldest unpaired line of invalid JSON."""
        if step.rpc_id not in (None, "null") or step.session is not None or not self._unreadable:
            return
        line = self._unreadable.popleft()
        line.exchange = step.exchange = -line.seq
        line.response_seq, step.request_seq = step.seq, line.seq
        step.answers = (Answer(-line.seq, "null"),)
        self._of_exchange[-line.seq] = line.lane

    def _lane(self, step: Step) -> str | None:
        """Returns a step's lane: from its exchange, session or names, or from the previous step."""
        for exchange in (*(answer.exchange for answer in step.answers), step.exchange):
            if exchange is not None and exchange in self._of_exchange:
                return self._of_exchange[exchange]
        if step.session is not None:
            return self._lane_of_session(step, step.session)
        if (lane := self._named(step.belongs_to)) is not None:
            return lane
        if step.belongs_to and step.from_agent:
            return self._last_session
        return self._last if step.from_agent else None

    def _lane_of_session(self, step: Step, session: str) -> str:
        is_opened = not step.from_agent and step.method in OPENING
        if is_opened or session not in self._of_session:
            lane = None if is_opened else self._named((session_name(session),))
            if lane is None and step.from_agent:
                lane = self._last_session
            self._of_session[session] = lane or session
        return self._of_session[session]

    def _named(self, names: tuple[str, ...]) -> str | None:
        """Returns the lane that introduced the first known one of the names; None without one.

        If several lanes introduced the name, the lane of the most recently active session is
        preferred. If this lane is not among them, returns the lane that did so most recently.
        """
        lanes = next((self._of_name[name] for name in names if name in self._of_name), {})
        if self._last_session is not None and self._last_session in lanes:
            return self._last_session
        return next(reversed(lanes), None)
