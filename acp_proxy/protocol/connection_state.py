"""What the state machine of a connection remembers, and what one message changes.

`State` is small enough to be stored with every batch of rows, so that any reader can go on from
there. Its field names are therefore a format; a new field needs a default.
"""

from collections.abc import Sequence
from typing import Any

from attrs import define, field

from acp_proxy.protocol.dialects import Evidence
from acp_proxy.protocol.directories import is_within
from acp_proxy.protocol.json_text import storable
from acp_proxy.protocol.peers import Direction


@define
class Exchange:
    """A request and its response; ``outcome`` is final once the recording has ended."""

    id: int
    direction: str
    """Of the request."""
    method: str | None
    rpc_id: str | None
    session: str | None
    request_seq: int
    request_ns: int = field(metadata={"internal": True})
    response_seq: int | None = None
    latency_ns: int | None = None
    outcome: str = "unanswered"
    """result, error, unanswered or cancelled."""
    turn: int | None = None
    tool_call: str | None = None
    terminal: str | None = None
    cancelled: bool = False
    """Whether ``$/cancel_request`` named it."""


@define
class Turn:
    """A prompt and what followed until its end; the history after session/load is no turn."""

    id: int
    session: str | None
    prompt_seq: int
    prompt_ns: int
    end_seq: int | None = None
    stop_reason: str | None = None
    updates: int = 0
    tool_calls: int = 0
    """Distinct ones."""
    duration_ns: int | None = None
    seen: set[str] = field(factory=set)
    """The ids of the tool calls counted so far; one that is used again is counted again."""
    asked: set[str] = field(factory=set)
    """The ids of tool calls that only permission requests have named so far."""
    is_cancelling: bool = False
    """Whether the client has cancelled it, and the agent has not ended it yet."""


@define
class Handshake:
    """The names of the peers, and their dialect."""

    dialect: str | None = None
    dialect_reason: str | None = None
    client_name: str | None = None
    client_version: str | None = None
    agent_name: str | None = None
    agent_version: str | None = None
    protocol_version: str | None = None


@define
class Session:
    """A session that a peer has opened."""

    mode: str | None = None
    """Its current mode, if it has modes."""
    wanted_mode: str | None = None
    """The mode that an unanswered ``session/set_mode`` asks for."""


@define
class Terminal:
    """A terminal that the client has created."""

    session: str | None
    has_exited: bool = False
    """Whether its command has ended or was killed; its output can still be read."""


@define
class SessionDirectories:
    """The directories of sessions: by a path, a message of the draft finds its session."""

    directories: dict[str, list[str]] = field(factory=dict)
    """Of each session."""
    opening: dict[int, list[str]] = field(factory=dict)
    """Those that unanswered requests for a new session name, by exchange."""

    def asked(self, exchange: int, params: dict[str, Any], session: str | None) -> None:
        """Takes a request that opens a session.

        Args:
            exchange: its number.
            params: its params.
            session: the session that it opens, if that has an id already.
        """
        others = params.get("additionalDirectories")
        every = [params.get("workingDirectory"), params.get("cwd")]
        every += others if isinstance(others, list) else []
        named = [path for path in every if isinstance(path, str) and path]
        found = [path.rstrip("/\\") or path for path in named]
        if found and session is not None:
            self.directories[session] = found
        elif found:
            self.opening[exchange] = found

    def opened(self, exchange: int, session: str | None) -> None:
        """Takes the answer to such a request.

        Args:
            exchange: its number.
            session: the session that it names; None if it opened none.
        """
        found = self.opening.pop(exchange, None)
        if found is not None and session is not None:
            self.directories[session] = found

    def candidates(self, params: dict[str, Any]) -> list[str]:
        """The sessions in whose directories a message's path is; of nested ones the innermost."""
        for name in ("path", "cwd", "workingDirectory"):
            if isinstance(path := params.get(name), str) and (owners := self._owners(path)):
                return owners
        return []

    def _owners(self, path: str) -> list[str]:
        innermost, owners = 0, list[str]()
        for session, every in self.directories.items():
            depth = max((len(one) for one in every if is_within(path, [one])), default=0)
            if depth > innermost:
                innermost, owners = depth, [session]
            elif depth and depth == innermost:
                owners.append(session)
        return owners


_MOST_SERVERS, _MOST_SESSIONS = 1_000, 100


@define
class McpServers:
    """The MCP servers that a client offers through ACP: by them, their messages find a session."""

    sessions: dict[str, list[str]] = field(factory=dict)
    """Those that have declared each server, by its id."""
    opening: dict[int, list[str]] = field(factory=dict)
    """The ids in unanswered requests that open a session, by exchange."""
    connections: dict[str, str] = field(factory=dict)
    """The session of each connection to a server."""

    def asked(self, exchange: int, params: dict[str, Any]) -> None:
        """Takes a request that opens a session.

        Args:
            exchange: its number.
            params: its params.
        """
        servers = params.get("mcpServers")
        every = [one for one in servers if isinstance(one, dict)] if servers else []
        if found := [name for one in every if (name := _server_id(one)) is not None]:
            self.opening[exchange] = found

    def opened(self, exchange: int, session: str | None) -> None:
        """Takes the answer to such a request.

        Args:
            exchange: its number.
            session: the session that it opens; None if it opened none.
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
        """The sessions that a message about a server or a connection may belong to."""
        connection = params.get("connectionId")
        if isinstance(connection, str) and connection in self.connections:
            return [self.connections[connection]]
        return self.sessions.get(_server_id(params) or "", [])


@define
class State:
    """All that the machine remembers between two messages."""

    next_exchange: int = 1
    next_turn: int = 1
    open: dict[Direction, dict[str, list[Exchange]]] = field(
        factory=lambda: {Direction.TO_AGENT: {}, Direction.TO_CLIENT: {}}
    )
    """Unanswered requests by their direction and id token, oldest first."""
    turns: dict[str, list[Turn]] = field(factory=dict)
    """Open turns by session, oldest first."""
    handshake: Handshake = field(factory=Handshake)
    params: dict[str, Any] = field(factory=dict)
    """Of the latest initialize request, without lists; the client's capabilities are in it."""
    result: dict[str, Any] = field(factory=dict)
    """Of the latest answer to it, with the agent's."""
    forced: bool = False
    evidence: Evidence = field(factory=Evidence)
    """What the dialect was detected by, up to the end of the first turn."""
    unnamed: SessionDirectories = field(factory=SessionDirectories)
    """The directories of sessions, while the dialect may be the draft."""
    sessions: dict[str, Session] = field(factory=dict)
    servers: McpServers = field(factory=McpServers)
    terminals: dict[str, Terminal] = field(factory=dict)
    """Those that are not released."""
    calls: dict[str, dict[str, str]] = field(factory=dict)
    """The statuses of tool calls by session and id; after a turn, of those that are not over."""


@define
class Transition:
    """What a message belongs to, and what it has changed."""

    method: str | None = None
    """Its own, or that of the request that it answers."""
    exchange: int | None = None
    session: str | None = None
    turn: int | None = None
    tool_call: str | None = None
    terminal: str | None = None
    begins_call: bool = False
    """Whether it can begin a tool call, and is not about the last one with this id (`call_ids`)."""
    opened: Exchange | None = None
    """The request itself."""
    answered: Exchange | None = None
    cancelled: Exchange | None = None
    """The open request that ``$/cancel_request`` names."""
    begun: Turn | None = None
    updated: Turn | None = None
    """The turn that a session update belongs to."""
    ended: Sequence[Turn] = ()
    members: "Sequence[Transition]" = ()
    """Those of the messages of a batch; the batch itself has the labels on which they agree."""


def meet(state: State, result: dict[str, Any] | None) -> None:
    """Takes names and versions from the handshake.

    Args:
        state: has the params of the request.
        result: of the answer; None while there is none.
    """
    handshake = state.handshake
    client = _either(state.params, "clientInfo", "info")
    handshake.client_name = _text(client, "name")
    handshake.client_version = _text(client, "version")
    if result is not None:
        agent = _either(result, "agentInfo", "info")
        handshake.agent_name = _text(agent, "name")
        handshake.agent_version = _text(agent, "version")
        if isinstance(version := result.get("protocolVersion"), int | float):
            handshake.protocol_version = str(version)
        else:
            handshake.protocol_version = _text(result, "protocolVersion")


def _server_id(holder: dict[str, Any]) -> str | None:
    """The id of an MCP server in a declaration or a message, in the spelling of any version."""
    found = holder.get("serverId", holder.get("acpId", holder.get("id")))
    return found if isinstance(found, str) else None


def _either(value: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        if isinstance(found := value.get(name), dict):
            return found
    return {}


def _text(value: dict[str, Any], name: str) -> str | None:
    found = value.get(name)
    return storable(found) if isinstance(found, str) else None


def shallow(value: dict[str, Any], levels: int = 3) -> dict[str, Any]:
    """Returns a copy without lists and without deeply nested objects, so that it can be stored.

    Args:
        value: the params or the result of initialize.
        levels: how many levels of objects are kept.
    """
    kept: dict[str, Any] = {}
    for name, inner in value.items():
        if isinstance(inner, dict):
            kept[name] = shallow(inner, levels - 1) if levels > 1 else {}
        elif not isinstance(inner, list):
            kept[name] = inner
    return kept
