"""Recognizes what is not ACP, by the first request: other protocols have an ``initialize``, too."""

import re
from collections.abc import Mapping
from typing import Any

_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_MCP, _LSP = "MCP, the Model Context Protocol", "LSP, the Language Server Protocol"


def other_protocol(params: Mapping[str, Any]) -> str | None:
    """Returns what another protocol than ACP is called; None if there is no sign of one.

    Args:
        params: of ``initialize``.
    """
    version = params.get("protocolVersion")
    if isinstance(version, str) and _DATE.fullmatch(version):
        is_mcp = isinstance(params.get("capabilities"), dict) and "clientInfo" in params
        return _MCP if is_mcp else None
    has_root = not params.keys().isdisjoint(("rootUri", "rootPath", "workspaceFolders"))
    is_lsp = "protocolVersion" not in params and "processId" in params and has_root
    return _LSP if is_lsp else None


def note_of(params: Mapping[str, Any]) -> str | None:
    """Returns a sentence for people who check a recording of another protocol; None for ACP.

    Args:
        params: of ``initialize``.
    """
    name = other_protocol(params)
    return None if name is None else f"this is not ACP: initialize looks like that of {name}"
