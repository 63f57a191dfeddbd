"""Describes documents, and suggestions for the next edit (unstable in v1)."""

from acp_proxy.inspection.describe.values import Value, joined, listed, part, parts, quantity, word
from acp_proxy.wording import counted


def document(params: Value) -> str:
    """Describes a document that was opened, changed, saved, closed or focused."""
    text, version, changes = (
        params.get("text"),
        word(params, "version"),
        params.get("contentChanges"),
    )
    return joined(
        _place(params, part(params, "position")),
        word(params, "languageId"),
        f"version {version}" if version else "",
        quantity(text) if isinstance(text, str) else "",
        counted(len(changes), "change") if isinstance(changes, list) else "",
        by=", ",
    )


def start(params: Value) -> str:
    """Describes the workspace of a session of suggestions."""
    folders = listed(word(f, "name", "uri") for f in parts(params, "workspaceFolders"))
    repository = part(params, "repository")
    return joined(
        word(params, "workspaceUri") or folders,
        joined(word(repository, "owner"), word(repository, "name"), by="/"),
        by=", ",
    )


def suggest(params: Value) -> str:
    """Describes a request for suggestions: where, and why."""
    given = listed(part(params, "context"))
    context = f"with {given}" if given else ""
    return joined(document(params), word(params, "triggerKind"), context, by=", ")


def suggestions(result: Value) -> str:
    """Describes suggestions."""
    found = parts(result, "suggestions")
    return joined(
        counted(len(found), "suggestion"), listed(map(_suggestion, found), most=3), by=": "
    )


def decided(params: Value) -> str:
    """Describes a suggestion that was accepted or rejected."""
    reason = word(params, "reason")
    return joined(word(params, "id", "suggestionId"), f"({reason})" if reason else "")


def _suggestion(value: Value) -> str:
    edits = len(parts(value, "edits"))
    change = joined(word(value, "search"), word(value, "replace"), by=" → ")
    return joined(
        word(value, "kind"),
        _place(value, part(value, "position") or part(value, "cursorPosition")),
        f"({counted(edits, 'edit')})" if edits else "",
        word(value, "newName") or change,
    )


def _place(value: Value, position: Value) -> str:
    """Describes a place in a document, whose lines and characters count from 1."""
    line, character = position.get("line"), position.get("character")
    if not isinstance(line, int) or not isinstance(character, int):
        return word(value, "uri")
    return f"{word(value, 'uri')}:{line + 1}:{character + 1}"
