"""A recording as a replay reads it: steps in order, and payloads by number.

A step is small; payloads are only read when one is sent or compared. Steps are read as the
conversation proceeds, so that a recording of any size starts to play at once.

A message of the client is *awaited* if frames of the agent wait for it. It is *optional* if the
client may omit it nevertheless: after a second of silence nothing waits for it any longer.

Messages without a known session find their lane by names. An agent announces a child session in an
update of the parent, and the child's messages follow without a request of the client. MCP over ACP
names no session: the request that opens a session declares a server, ``mcp/connect`` names the
server, and its answer the connection that ``mcp/message`` and ``mcp/disconnect`` name.
``_mcp/request``, an older form, names the server.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

from attrs import define, frozen

from acp_proxy.protocol.dialects import CANCEL, CANCEL_REQUEST, HANDSHAKE, OPENING, PUSH
from acp_proxy.protocol.json_text import json_or_none, member, params_of
from acp_proxy.protocol.jsonrpc import Kind, Message, read

ANNOUNCEMENT = b"subagent_update"
"""The kind of the update that announces a child session."""
_OF_SERVER = ("serverId", "acpId", "id", "name", "serverName", "mcpServerName")
"""Members with the id or the name of a server, in its declaration or where it is used."""


def session_name(session: str) -> str:
    """Returns the name of a session."""
    return f"session {session}"


def is_mcp(method: str | None) -> bool:
    """Whether a method is one of MCP over ACP."""
    return (method or "").removeprefix("_").startswith("mcp/")


def announced_session(raw: bytes) -> str | None:
    """Returns the child session that an update announces, if any."""
    update = member(json_or_none(raw), "params", "update") if ANNOUNCEMENT in raw else None
    is_one = member(update, "sessionUpdate") == ANNOUNCEMENT.decode()
    session = member(update, "sessionId")
    return session if is_one and isinstance(session, str) else None


def introduced(method: str | None, raw: bytes) -> tuple[str, ...]:
    """Returns the names that a message introduces in its lane.

    Args:
        method: the message's method, or that of the request that it answers.
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
    """Returns names of the target of an MCP over ACP message, the most certain one first."""
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
    """A request of the agent in a step."""

    exchange: int
    rpc_id: str
    method: str | None
    reply_seq: int | None
    """The number of the recorded reply, if there was one."""


@frozen
class Answer:
    """A request of the client that a step answers."""

    exchange: int
    rpc_id: str
    """The id as JSON; the reply repeats it."""


class _Batch(NamedTuple):
    whole: Message
    members: Sequence[Message]
    requests: dict[str | None, Message]
    """Requests by id; the first of those with the same id."""


@lru_cache(maxsize=2)
def _batch(raw: bytes) -> _Batch:
    """Reads a batch once, since its messages are requested one by one."""
    whole = read(raw)
    requests = (request for request in reversed(whole.members) if request.kind is Kind.REQUEST)
    return _Batch(whole, whole.members, {request.rpc_id: request for request in requests})


class Wire(NamedTuple):
    """A frame as it was written."""

    raw: bytes
    newline: str
    t_ns: int
    kind: str
    method: str | None

    def message_of(self, step: "Step") -> bytes:
        """Returns the message of a client's step, which may be a member of a batch."""
        return self.raw if step.member is None else _batch(self.raw).members[step.member].raw or b""

    def request_of(self, ask: Ask) -> Message:
        """Returns a request of the agent, which may be a member of a batch."""
        if not self.raw.lstrip().startswith(b"["):
            return read(self.raw)
        batch = _batch(self.raw)
        return batch.requests.get(ask.rpc_id, batch.whole)


@define
class Step:
    """A frame, or a member of a batch that the client sent."""

    seq: int
    t_ns: int
    from_agent: bool
    kind: str
    method: str | None = None
    """The message's method, or that of the request it answers."""
    rpc_id: str | None = None
    session: str | None = None
    """The session of the frame or of its exchange, even for the request that created it."""
    names_session: bool = False
    """Whether the message itself contains the session's id."""
    exchange: int | None = None
    request_seq: int | None = None
    response_seq: int | None = None
    answers: tuple[Answer, ...] = ()
    """Requests that a frame of the agent answers; several if it is a batch."""
    asks: tuple[Ask, ...] = ()
    member: int | None = None
    """The index in a batch of the client."""
    introduces: tuple[str, ...] = ()
    """Names that the step introduces in its lane; see `introduced`."""
    belongs_to: tuple[str, ...] = ()
    """Names that determine the lane of a message without a session."""
    lane: str | None = None
    """The session whose lane it is in; None for the connection's. Set by `LaneFinder`."""
    follows_withheld: bool = False
    """Whether it may be missing because it depends on a withheld request."""

    @property
    def key(self) -> tuple[int, int]:
        """A key that identifies the step."""
        return self.seq, self.member or 0

    @property
    def title(self) -> str:
        """The name of the step in reports."""
        name = self.method or self.kind
        return f"the answer to {name}" if self.is_reply else name

    @property
    def is_reply(self) -> bool:
        """Whether it answers a request."""
        return self.kind in REPLIES

    @property
    def is_awaited(self) -> bool:
        """Whether frames wait for it: a request, a reply or a cancellation; see docs/replay.md.

        A cancellation without an open request has no effect. With a reply that answers no request,
        a client reports a line that it could not read.
        """
        if self.is_reply or self.method == CANCEL_REQUEST:
            return self.exchange is not None
        return self.kind == "request" or (self.kind == "notification" and self.method == CANCEL)

    @property
    def is_push(self) -> bool:
        """Whether it is a piece of a terminal's output, pushed by the client."""
        return self.kind == "request" and self.method == PUSH and not self.from_agent

    @property
    def is_optional(self) -> bool:
        """Whether no lane depends on it: a piece of output, or a request that opens nothing."""
        if self.kind == "invalid" or self.is_push or self.follows_withheld:
            return True
        return self.kind == "request" and self.lane is None and self.method not in HANDSHAKE


class Script(Protocol):
    """A recording to be played."""

    agent_left_at: int | None
    """The number of the event when the agent closed its output by itself. None if the end of its
    input or a signal stopped it, or if that is unknown."""
    dialect: str | None
    redaction: str | None
    """How it was masked: ``secrets``, ``private`` or ``none``; None in early recordings."""

    def read(self) -> list[Step]:
        """Returns the next steps in recorded order; empty at the end."""

    def wire(self, seq: int) -> Wire:
        """Returns a frame as it was written."""

    def later(self, method: str | None, kind: str, after: int) -> Iterator[Step]:
        """Yields messages of the client beyond those already read, in order.

        Args:
            method: the method of the messages.
            kind: the kind of the messages.
            after: only messages with a higher number.
        """


class LaneFinder:
    """Assigns each step a lane, in recorded order: an ACP session's, or the connection's.

    A session's lane begins at the request that creates or loads it. A session that no request
    opened, such as a subagent's, has no lane of its own: it uses the lane of the frame that
    announces it, or else of the most recently active session. MCP over ACP uses the lane of the
    session that declared the server. A frame of the agent without a session, such as a line that is
    not a message, uses the lane of the frame before it.
    """

    def __init__(self) -> None:
        self._of_exchange: dict[int, str | None] = {}
        self._of_session: dict[str, str] = {}
        self._of_name: dict[str, dict[str, None]] = {}
        """The lanes that introduced each name, the latest one last."""
        self._last: str | None = None
        self._last_session: str | None = None
        self._unreadable: deque[Step] = deque()

    def place(self, step: Step) -> None:
        """Assigns a step its lane."""
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
        """Returns the lane of a known session; for an unknown one, its own name."""
        return self._of_session.get(session or "", session)

    @property
    def joined(self) -> dict[str, str]:
        """The lanes of the sessions without a lane of their own, in order."""
        return {name: lane for name, lane in self._of_session.items() if name != lane}

    def _pair_with_unreadable(self, step: Step) -> None:
        """Pairs an error that answers no request with a line that the agent could not read."""
        if step.rpc_id not in (None, "null") or step.session is not None or not self._unreadable:
            return
        line = self._unreadable.popleft()
        line.exchange = step.exchange = -line.seq
        line.response_seq, step.request_seq = step.seq, line.seq
        step.answers = (Answer(-line.seq, "null"),)
        self._of_exchange[-line.seq] = line.lane

    def _lane(self, step: Step) -> str | None:
        """Returns the lane of the answered request, of the session, or of the previous step."""
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
        """Returns the lane in which the first known name was introduced.

        Among several, the most recently active lane is chosen, or else the latest one.
        """
        lanes = next((self._of_name[name] for name in names if name in self._of_name), {})
        if self._last_session is not None and self._last_session in lanes:
            return self._last_session
        return next(reversed(lanes), None)
