"""Reads the catalogue of rules: what each rule demands of which side, in which dialects, and why.

``catalogue.json`` holds the rules with their places in the specification, which have addresses, and
the rules that are not checked, each with the reason. The functions that find breaches are in the
modules of `rules`.
"""

from functools import cache
from importlib import resources

from attrs import frozen

from acp_proxy.conformance.values import Rule
from acp_proxy.forms import converter


@frozen
class _Catalogue:
    rules: tuple[Rule, ...]
    left_out: dict[str, str]


@cache
def rules() -> dict[str, Rule]:
    """Returns the rules that can be checked, by id, in the order of the catalogue."""
    return {rule.id: rule for rule in _read().rules}


def left_out() -> dict[str, str]:
    """Returns the rules of the specification that are not checked, with the reason."""
    return _read().left_out


@cache
def _read() -> _Catalogue:
    text = resources.files("acp_proxy.conformance").joinpath("catalogue.json").read_text("utf-8")
    return converter.loads(text, _Catalogue)


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
