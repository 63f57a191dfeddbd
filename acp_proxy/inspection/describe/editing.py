"""What the unstable layer adds for editors: documents, and suggestions for the next edit."""

from acp_proxy.inspection.describe.values import Value, joined, listed, part, parts, quantity, word
from acp_proxy.wording import counted


def document(params: Value) -> str:
    """A document that was opened, changed, saved, closed or looked at."""
    text, version, language = (
        params.get("text"),
        word(params, "version"),
        word(params, "languageId"),
    )
    changes = params.get("contentChanges")
    place = position(part(params, "position"))
    return joined(
        word(params, "uri") + (f":{place}" if place else ""),
        language,
        f"version {version}" if version else "",
        quantity(text) if isinstance(text, str) else "",
        counted(len(changes), "change") if isinstance(changes, list) else "",
        by=", ",
    )


def position(value: Value) -> str:
    """Line and character as people count them."""
    line, character = value.get("line"), value.get("character")
    if not isinstance(line, int) or not isinstance(character, int):
        return ""
    return f"{line + 1}:{character + 1}"


def start(params: Value) -> str:
    """What is worked on."""
    folders = listed(word(f, "name", "uri") for f in parts(params, "workspaceFolders"))
    repository = part(params, "repository")
    return joined(
        word(params, "workspaceUri") or folders,
        joined(word(repository, "owner"), word(repository, "name"), by="/"),
        by=", ",
    )


def suggest(params: Value) -> str:
    """Where a suggestion is wanted, and why."""
    why = word(params, "triggerKind")
    given = listed(part(params, "context"))
    return joined(document(params), why, f"with {given}" if given else "", by=", ")


def suggestions(result: Value) -> str:
    """What is suggested."""
    found = parts(result, "suggestions")
    return joined(
        counted(len(found), "suggestion"), listed(map(_suggestion, found), most=3), by=": "
    )


def decided(params: Value) -> str:
    """The suggestion that was taken or not."""
    reason = word(params, "reason")
    return joined(word(params, "id", "suggestionId"), f"({reason})" if reason else "")


def _suggestion(value: Value) -> str:
    place = position(part(value, "position") or part(value, "cursorPosition"))
    edits = len(parts(value, "edits"))
    change = joined(word(value, "search"), word(value, "replace"), by=" → ")
    return joined(
        word(value, "kind"),
        word(value, "uri") + (f":{place}" if place else ""),
        f"({counted(edits, 'edit')})" if edits else "",
        word(value, "newName") or change,
    )
