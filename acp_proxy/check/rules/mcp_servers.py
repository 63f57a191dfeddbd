"""Rules about the MCP servers of a client, and about MCP messages that pass through the client."""

from collections import Counter
from typing import Any

from acp_proxy.check.check_values import Breach, Breaches, is_relative, shown
from acp_proxy.check.checked_message import CheckedMessage, items, strings
from acp_proxy.check.conversation.conversation import Conversation
from acp_proxy.check.registry import rule
from acp_proxy.protocol.dialects import OPENING, V2
from acp_proxy.protocol.json_text import member

_TYPES = ("http", "sse", "acp", "stdio")


@rule("mcp.sse-deprecated", requests=OPENING, alone=True)
def sse_is_deprecated(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Reports servers with the deprecated SSE transport."""
    for at, server in servers_of(message):
        if member(server, "type") == "sse":
            text = f"the MCP server {_name(server)} has the type sse"
            yield Breach(text, place=_place(at, "type"))


@rule("mcp.type-unknown", requests=OPENING, alone=True)
def type_is_known(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds undefined transports. In v2, names with a leading underscore are allowed."""
    for at, server in servers_of(message):
        kind = server.get("type")
        if kind is None and conversation.dialect == V2:
            continue  # a rule of v2 covers a missing type
        is_custom = conversation.dialect == V2 and isinstance(kind, str) and kind.startswith("_")
        if "type" in server and kind not in _TYPES and not is_custom:
            text = f"the MCP server {_name(server)} has the type {shown(kind)}"
            yield Breach(f"{text}, which is not defined", place=f"/params/mcpServers/{at}")


@rule("mcp.command-absolute", requests=OPENING, alone=True)
def command_is_absolute(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds commands that are relative paths, or that must be looked up in the PATH."""
    for at, server in servers_of(message):
        if is_relative(command := server.get("command")):
            text = f"the command {shown(command)} of the MCP server {_name(server)} is not absolute"
            yield Breach(text, place=_place(at, "command"))


@rule("mcp.pairs", requests=OPENING, alone=True)
def variables_are_pairs(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds variables and headers that are written as an object, not as a list of pairs."""
    for at, server in servers_of(message):
        for name in ("env", "headers"):
            if isinstance(server.get(name), dict):
                text = f'"{name}" of the MCP server {_name(server)} is an object'
                yield Breach(f"{text}, not a list of pairs", place=_place(at, name))


@rule("mcp.name-duplicate", requests=OPENING, alone=True)
def names_differ(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds servers with the same name."""
    names = Counter(strings(server.get("name") for _, server in servers_of(message)))
    for name, count in names.items():
        if count > 1:
            yield Breach(f"{count} MCP servers have the name {shown(name)}")


@rule("mcp.connection-known", results=("mcp/connect",))
def remember_connections(message: CheckedMessage, conversation: Conversation) -> None:
    """Remembers the connections that a client has opened."""
    if isinstance(name := message.result.get("connectionId"), str):
        conversation.memory.mcp_connections.add(name, True)


@rule("mcp.connection-known", requests=("mcp/message", "mcp/disconnect"),
      notifications=("mcp/message",))  # fmt: skip
def connection_is_open(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds messages for unknown or closed connections."""
    name = message.params.get("connectionId")
    known = conversation.memory.mcp_connections
    if not isinstance(name, str):
        return
    if known.get(name) is False or known.lacks(name):
        what = "is closed" if name in known else "was not opened by mcp/connect"
        yield Breach(f"the connection {shown(name)} {what}", place="/params/connectionId")
    elif message.method == "mcp/disconnect":
        known.add(name, False)


@rule("mcp.server-known", requests=("mcp/connect", "mcp/message"))
def server_is_declared(message: CheckedMessage, conversation: Conversation) -> Breaches:
    """Finds connections to a server that no session has declared."""
    name = message.params.get("serverId", message.params.get("acpId"))
    if not isinstance(name, str) or conversation.sessions.has_forgotten:
        return
    declared = [server for session in conversation.sessions.values() for server in session.servers]
    for request in conversation.asked.values():
        if request.method in OPENING:
            declared += [server for _, server in servers_of(request)]
    ids = [member(server, key) for server in declared for key in ("serverId", "acpId", "id")]
    if name not in ids:
        yield Breach(f"the MCP server {shown(name)} was not declared")


def servers_of(message: CheckedMessage) -> list[tuple[int, dict[str, Any]]]:
    """Returns the MCP servers of a request, with their indexes in the list."""
    servers = enumerate(items(message.params.get("mcpServers")))
    return [(at, server) for at, server in servers if isinstance(server, dict)]


def _name(server: dict[str, Any]) -> str:
    return shown(server.get("name"))


def _place(at: int, name: str) -> str:
    return f"/params/mcpServers/{at}/{name}"
