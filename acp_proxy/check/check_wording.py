"""Words for values of messages in findings, and the names of dialects and of other protocols."""

import re
from collections.abc import Mapping
from typing import Any

from acp_proxy.base.wording import without_middle
from acp_proxy.protocol.dialects import DRAFT, V1, V2
from acp_proxy.redaction.private_text import ABSOLUTE

_LONGEST = 60
_KINDS: dict[type, str] = {
    dict: "an object",
    list: "an array",
    bool: "a boolean",
    type(None): "null",
}
_DIALECTS = {V1: "version 1", V2: "version 2", DRAFT: DRAFT}


def dialect_name(dialect: str | None) -> str:
    """Returns the name of a dialect in a sentence; that of v1 where the dialect is not known."""
    return _DIALECTS[dialect or V1]


def not_offered(what: str, capability: str, side: str) -> str:
    """Returns the sentence that something needs a capability that the other side does not have.

    Args:
        what: what needs it, such as a method.
        capability: its path.
        side: client or agent.
    """
    return f"{what} needs the capability {capability}, which the {side} does not offer"


def is_relative(path: Any) -> bool:
    """Whether a value is a path that is neither absolute on POSIX nor on Windows."""
    return isinstance(path, str) and ABSOLUTE.match(path) is None


def shown(value: Any, most: int = _LONGEST) -> str:
    """Returns a string in quotes or a number, shortened; of other values what they are.

    Args:
        value: any value.
        most: the largest number of characters of a string; the middle of a longer one is cut.
    """
    if (kind := _KINDS.get(type(value))) is not None:
        return kind
    if isinstance(value, str):
        if most != _LONGEST:
            return f'"{without_middle(value, most)}"'
        return f'"{value[:_LONGEST]}…"' if len(value) > _LONGEST else f'"{value}"'
    text = str(value)
    return f"{text[:_LONGEST]}…" if len(text) > _LONGEST else text


_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MCP, _LSP = "MCP, the Model Context Protocol", "LSP, the Language Server Protocol"


def note_of(params: Mapping[str, Any]) -> str | None:
    """Returns a sentence for people who check a recording of another protocol; None for ACP.

    Other protocols have an ``initialize``, too.

    Args:
        params: of ``initialize``.
    """
    version = params.get("protocolVersion")
    has_root = not params.keys().isdisjoint(("rootUri", "rootPath", "workspaceFolders"))
    if isinstance(version, str) and _DATE.fullmatch(version):
        is_mcp = isinstance(params.get("capabilities"), dict) and "clientInfo" in params
        name = _MCP if is_mcp else None
    else:
        is_lsp = "protocolVersion" not in params and "processId" in params and has_root
        name = _LSP if is_lsp else None
    return name and f"this is not ACP: initialize looks like that of {name}"
