"""Words for values in findings, and names of dialects and other protocols."""

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
    """Returns the name of a dialect for a sentence; the name of v1 if the dialect is unknown."""
    return _DIALECTS[dialect or V1]


def not_offered(what: str, capability: str, side: str) -> str:
    """Returns a sentence which says that a side has not announced a required capability.

    Args:
        what: the thing that requires the capability, such as a method.
        capability: the path of the capability.
        side: the side without the capability: client or agent.
    """
    return f"{what} needs the capability {capability}, which the {side} does not offer"


def is_relative(path: Any) -> bool:
    """Whether a value is a path that is relative both on POSIX and on Windows."""
    return isinstance(path, str) and ABSOLUTE.match(path) is None


def shown(value: Any, most: int = _LONGEST) -> str:
    """Returns a short string in quotes, a number, or the kind of another value.

    Args:
        value: any value.
        most: the largest number of characters; longer strings are cut in the middle.
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
    """Returns a note on a recording of another protocol; None for ACP.

    Other protocols have an ``initialize`` request, too.

    Args:
        params: the params of ``initialize``.
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
