"""Names by which messages without a known session find their lane: child sessions, MCP over ACP.

An agent announces a child session in an update of its parent, and the child's messages follow
without any request of the client. MCP over ACP names no session: a server is declared in the
request that opens one, ``mcp/connect`` names the server, and its answer the connection that
``mcp/message`` and ``mcp/disconnect`` name. ``_mcp/request``, an older form, names the server.
"""

from typing import Any

from acp_proxy.protocol.dialects import OPENING
from acp_proxy.protocol.json_text import json_or_none, member, params_of

ANNOUNCEMENT = b"subagent_update"
"""The kind of the update that announces a child session."""
_CONNECT = "mcp/connect"
_OF_SERVER = ("serverId", "acpId", "id", "name", "serverName", "mcpServerName")
"""Members with the id or the name of a server: in its declaration, or where it is used."""


def session_name(session: str) -> str:
    """Returns the name of a session."""
    return f"session {session}"


def is_mcp(method: str | None) -> bool:
    """Whether a method is one of MCP over ACP."""
    return (method or "").removeprefix("_").startswith("mcp/")


def announced_session(raw: bytes) -> str | None:
    """Returns the child session that an update announces; None if it announces none."""
    update = member(json_or_none(raw), "params", "update") if ANNOUNCEMENT in raw else None
    is_one = member(update, "sessionUpdate") == ANNOUNCEMENT.decode()
    session = member(update, "sessionId")
    return session if is_one and isinstance(session, str) else None


def introduced(method: str | None, raw: bytes) -> tuple[str, ...]:
    """Returns the names that a message introduces in its lane.

    Args:
        method: its method, or that of the request that it answers.
        raw: the message.
    """
    if method in OPENING:
        servers = params_of(json_or_none(raw)).get("mcpServers")
        every = servers if isinstance(servers, list) else []
        return tuple(name for one in every for name in _servers(one))
    if method == _CONNECT:
        connection = member(json_or_none(raw), "result", "connectionId")
        return (f"connection {connection}",) if isinstance(connection, str) else ()
    session = announced_session(raw)
    return () if session is None else (session_name(session),)


def referred(raw: bytes) -> tuple[str, ...]:
    """Returns the names of what a message of MCP over ACP goes to; the most certain one first."""
    params = params_of(json_or_none(raw))
    connection = params.get("connectionId")
    return (f"connection {connection}",) if isinstance(connection, str) else _servers(params)


def _servers(holder: Any) -> tuple[str, ...]:
    found = (member(holder, name) for name in _OF_SERVER)
    return tuple(f"server {value}" for value in found if isinstance(value, str))
