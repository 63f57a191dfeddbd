"""The memory of a connection's state machine, and the changes that one message makes.

`State` is stored with every batch of rows, so that a reader can continue after the batch. The
field names of `State` are part of a file format, and a new field needs a default value.
"""

from collections.abc import Sequence
from typing import Any

from attrs import define, field

from acp_proxy.protocol.dialects import Evidence
from acp_proxy.protocol.directories import is_within
from acp_proxy.protocol.json_text import storable
from acp_proxy.protocol.jsonrpc import Direction


@define
class Exchange:
    """A request and its response. ``outcome`` can change until the recording has ended."""

    id: int
    direction: str
    """The direction of the request."""
    method: str | None
    rpc_id: str | None
    session: str | None
    request_seq: int
    request_ns: int = field(metadata={"internal": True})
    response_seq: int | None = None
    latency_ns: int | None = None
    outcome: str = "unanswered"
    """``result``, ``error``, ``unanswered`` or ``cancelled``."""
    turn: int | None = None
    tool_call: str | None = None
    terminal: str | None = None
    cancelled: bool = False
    """Whether a ``$/cancel_request`` named the request."""


@define
class Turn:
    """A prompt and all messages up to its stop reason. Repeated history is not a turn."""

    id: int
    session: str | None
    prompt_seq: int
    prompt_ns: int
    end_seq: int | None = None
    stop_reason: str | None = None
    updates: int = 0
    tool_calls: int = 0
    """The number of distinct tool calls."""
    duration_ns: int | None = None
    counted: set[str] = field(factory=set, metadata={"json": "seen"})
    """The ids of the tool calls that were counted. An id that another call reuses counts again."""
    asked: set[str] = field(factory=set)
    """The ids of the tool calls that only permission requests have named so far."""
    is_cancelling: bool = False
    """Whether the client has cancelled the turn and the agent has not ended it yet."""


@define
class Handshake:
    """The names and versions of the peers, and the dialect that they speak."""

    dialect: str | None = None
    dialect_reason: str | None = None
    client_name: str | None = None
    client_version: str | None = None
    agent_name: str | None = None
    agent_version: str | None = None
    protocol_version: str | None = None

    def meet_client(self, params: dict[str, Any]) -> None:
        """Reads the client's name and version from the params of ``initialize``."""
        self.client_name, self.client_version = _named(params, "clientInfo")

    def meet_agent(self, result: dict[str, Any]) -> None:
        """Reads the agent's name, its version and the protocol version from the result."""
        self.agent_name, self.agent_version = _named(result, "agentInfo")
        version = result.get("protocolVersion")
        is_number = isinstance(version, int | float)
        self.protocol_version = str(version) if is_number else _text(version)


@define
class Session:
    """A session that a peer has opened."""

    mode: str | None = None
    """The current mode; None if the session has no modes."""
    wanted_mode: str | None = None
    """The mode requested by a ``session/set_mode`` that is not answered yet."""


@define
class Terminal:
    """A terminal that the client has created."""

    session: str | None
    has_exited: bool = False
    """Whether the terminal's command has ended or was killed; the output can still be read."""


@define
class SessionDirectories:
    """The directories of sessions. In the draft, a message's path tells the message's session."""

    directories: dict[str, list[str]] = field(factory=dict)
    """The directories of each session, by session id."""
    opening: dict[int, list[str]] = field(factory=dict)
    """The directories in unanswered requests for a new session, by exchange number."""

    def request(self, exchange: int, params: dict[str, Any], session: str | None) -> None:
        """Remembers the directories that a request to open a session names.

        Args:
            exchange: the number of the request's exchange.
            params: the params of the request.
            session: the id of the session, if the request names it already.
        """
        others = params.get("additionalDirectories")
        values = [params.get("workingDirectory"), params.get("cwd")]
        values += others if isinstance(others, list) else []
        paths = [v.rstrip("/\\") or v for v in values if isinstance(v, str) and v]
        if paths and session is not None:
            self.directories[session] = paths
        elif paths:
            self.opening[exchange] = paths

    def answer(self, exchange: int, session: str | None) -> None:
        """Assigns the directories of a request to the session that the answer names.

        Args:
            exchange: the number of the request's exchange.
            session: the id of the session that the answer names; None if no session was opened.
        """
        paths = self.opening.pop(exchange, None)
        if paths is not None and session is not None:
            self.directories[session] = paths

    def candidates(self, params: dict[str, Any]) -> list[str]:
        """Returns the sessions whose directory contains the path in a message.

        If several directories contain the path, only sessions of the innermost directory are
        returned.
        """
        for name in ("path", "cwd", "workingDirectory"):
            if isinstance(path := params.get(name), str) and (owners := self._owners(path)):
                return owners
        return []

    def _owners(self, path: str) -> list[str]:
        innermost, owners = 0, list[str]()
        for session, roots in self.directories.items():
            depth = max((len(root) for root in roots if is_within(path, [root])), default=0)
            if depth > innermost:
                innermost, owners = depth, [session]
            elif depth and depth == innermost:
                owners.append(session)
        return owners


_MOST_SERVERS, _MOST_SESSIONS = 1_000, 100


@define
class McpServers:
    """The MCP servers that a client offers through ACP; messages to servers name no session."""

    sessions: dict[str, list[str]] = field(factory=dict)
    """The sessions that have declared each server, by server id."""
    opening: dict[int, list[str]] = field(factory=dict)
    """The server ids in unanswered requests that open a session, by exchange number."""
    connections: dict[str, str] = field(factory=dict)
    """The session of each connection to a server, by connection id."""

    def request(self, exchange: int, params: dict[str, Any]) -> None:
        """Remembers the MCP servers that a request to open a session names.

        Args:
            exchange: the number of the request's exchange.
            params: the params of the request.
        """
        servers = [s for s in params.get("mcpServers") or () if isinstance(s, dict)]
        if ids := [name for server in servers if (name := _server_id(server)) is not None]:
            self.opening[exchange] = ids

    def answer(self, exchange: int, session: str | None) -> None:
        """Assigns the MCP servers of a request to the session that the answer opens.

        Args:
            exchange: the number of the request's exchange.
            session: the id of the session; None if no session was opened.
        """
        names = self.opening.pop(exchange, ())
        if session is None:
            return
        for name in names:
            known = self.sessions.setdefault(name, [])
            if session not in known:
                known.append(session)
                del known[:-_MOST_SESSIONS]
        while len(self.sessions) > _MOST_SERVERS:
            del self.sessions[next(iter(self.sessions))]

    def candidates(self, params: dict[str, Any]) -> list[str]:
        """Returns the sessions that a message about a server or a connection may belong to."""
        connection = params.get("connectionId")
        if isinstance(connection, str) and connection in self.connections:
            return [self.connections[connection]]
        return self.sessions.get(_server_id(params) or "", [])


@define
class State:
    """Everything that the state machine remembers between two messages."""

    next_exchange: int = 1
    next_turn: int = 1
    open: dict[Direction, dict[str, list[Exchange]]] = field(
        factory=lambda: {Direction.TO_AGENT: {}, Direction.TO_CLIENT: {}}
    )
    """Unanswered requests by direction and by id token. In each list the oldest request is
    first."""
    turns: dict[str, list[Turn]] = field(factory=dict)
    """Open turns by session id ("" if a prompt names no session), oldest first."""
    handshake: Handshake = field(factory=Handshake)
    forced: bool = False
    evidence: Evidence = field(factory=Evidence)
    """The evidence for the dialect, up to the end of the first turn."""
    unnamed: SessionDirectories = field(factory=SessionDirectories)
    """The directories of sessions. They are tracked only while the dialect may be the draft."""
    sessions: dict[str, Session] = field(factory=dict)
    servers: McpServers = field(factory=McpServers)
    terminals: dict[str, Terminal] = field(factory=dict)
    """Terminals that are not released yet, by terminal id."""
    calls: dict[str, dict[str, str]] = field(factory=dict)
    """The status of each tool call, by session and id. Calls that are over are removed when the
    session's last open turn ends."""


@define
class Transition:
    """The labels of a message, and the changes that the message made."""

    method: str | None = None
    """The message's method; for an answer, the method of the request."""
    exchange: int | None = None
    session: str | None = None
    turn: int | None = None
    tool_call: str | None = None
    terminal: str | None = None
    begins_call: bool = False
    """Whether the message begins a tool call; see `call_ids`."""
    opened: Exchange | None = None
    """The exchange that a request opens."""
    answered: Exchange | None = None
    """The exchange that an answer completes."""
    cancelled: Exchange | None = None
    """The open request that ``$/cancel_request`` names."""
    begun: Turn | None = None
    updated: Turn | None = None
    """The open turn that a session update belongs to."""
    ended: Sequence[Turn] = ()
    members: "Sequence[Transition]" = ()
    """The transitions of a batch's members. A label that all members share is also the label of the
    batch."""


def _server_id(holder: dict[str, Any]) -> str | None:
    """Returns the id of an MCP server. The protocol version decides which member has the id."""
    server_id = holder.get("serverId", holder.get("acpId", holder.get("id")))
    return server_id if isinstance(server_id, str) else None


def _named(holder: dict[str, Any], member: str) -> tuple[str | None, str | None]:
    """Returns the name and the version of a peer, from the given member or from ``info``."""
    values = (holder.get(name) for name in (member, "info"))
    info = next((value for value in values if isinstance(value, dict)), {})
    return _text(info.get("name")), _text(info.get("version"))


def _text(value: Any) -> str | None:
    return storable(value) if isinstance(value, str) else None
