"""MCP through ACP: connections, and the messages that they carry."""

from acp_proxy.inspection.describe.content import content
from acp_proxy.inspection.describe.values import Value, joined, listed, part, parts, payload, word

_LISTS = ("tools", "resources", "prompts", "resourceTemplates")


def connect(params: Value) -> str:
    """The server, or the connection."""
    return word(params, "serverId", "acpId", "connectionId")


def message(params: Value) -> str:
    """A message within: through what, its method, its params."""
    via = word(params, "connectionId", "serverName")
    inner = part(params, "params") or part(params, "mcpParams")
    return joined(joined(via, word(params, "method", "mcpMethod")), payload(inner), by=": ")


def message_result(result: Value) -> str:
    """What the server answered: content, or a list by name."""
    for key in _LISTS:
        if key in result:
            names = listed(word(item, "name", "uri") for item in parts(result, key))
            return joined(key, names or "none", by=": ")
    failed = "error" if result.get("isError") is True else ""
    return joined(failed, content(result.get("content")), by=": ")
