"""Addresses of the places in the specification that the catalogue names."""

_SITE = "https://agentclientprotocol.com"
_PAGES = {
    "Agent Plan": "agent-plan",
    "Authentication": "authentication",
    "Cancellation": "cancellation",
    "Config Options": "session-config-options",
    "Content": "content",
    "Elicitation": "elicitation",
    "ErrorCode": "error",
    "Extensibility": "extensibility",
    "File System": "file-system",
    "Initialization": "initialization",
    "Overview": "overview",
    "Prompt Turn": "prompt-turn",
    "Schema": "schema",
    "Session Delete": "session-delete",
    "Session List": "session-list",
    "Session Modes": "session-modes",
    "Session Setup": "session-setup",
    "Slash Commands": "slash-commands",
    "Terminals": "terminals",
    "Tool Calls": "tool-calls",
    "Transports": "transports",
}
_PAGES_V2 = {
    "v2 extensibility": "extensibility",
    "v2 initialization": "initialization",
    "v2 message updates": "prompt-lifecycle",
    "v2 migration": "migration",
    "v2 prompt lifecycle": "prompt-lifecycle",
    "v2 session setup": "session-setup",
}
_OTHERS = {
    "Architecture": f"{_SITE}/get-started/architecture",
    "JSON-RPC": "https://www.jsonrpc.org/specification",
    "JSON": "https://www.rfc-editor.org/rfc/rfc8259",
    "MCP-over-ACP RFD": f"{_SITE}/rfds/mcp-over-acp",
    "Session Fork RFD": f"{_SITE}/rfds/session-fork",
}
_ADDRESSES = {
    **{name: f"{_SITE}/protocol/v1/{page}" for name, page in _PAGES.items()},
    **{name: f"{_SITE}/protocol/v2/{page}" for name, page in _PAGES_V2.items()},
    **_OTHERS,
}


def address_of(source: str) -> str | None:
    """Returns the address of the page that has a place; None if the place is on no known page.

    Args:
        source: as the catalogue names it.
    """
    name = source.removeprefix("documentation today: ").removeprefix("documentation: ")
    return next((url for page, url in _ADDRESSES.items() if name.startswith(page)), None)
