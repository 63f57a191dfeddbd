"""Describes what an agent asks a person, a permission or a form, and the answers."""

from acp_proxy.inspection.describe.tools import (
    call_of,
    places,
    short_id,
    tool_content,
    tool_input,
    tool_label,
    tool_state,
)
from acp_proxy.inspection.describe.values import Value, compact, joined, listed, part, parts, word


def permission(params: Value) -> str:
    """Describes a permission request: the action, the options, then the details."""
    if "operation" in params:
        return _draft_permission(params)
    subject = part(params, "subject")
    call = call_of(params)
    title = word(params, "title")
    shown = tool_content(call)
    asked = joined(
        title or tool_label(call), tool_state(call), _command(subject), places(call, shown)
    )
    options = " | ".join(map(_option, parts(params, "options")))
    details = joined(word(params, "description"), shown or tool_input(call))
    question = joined(asked, options, by=" " if asked.endswith("?") else ": ")
    return joined(question, details, by=" — ")


def permission_result(result: Value, asked: Value | None = None) -> str:
    """Describes the answer to a permission request.

    Args:
        result: of the answer.
        asked: the params of the request, if known, which name the chosen option.
    """
    if isinstance(granted := result.get("granted"), bool):
        scope = word(result, "scope")
        remember = "remembered" if result.get("remember") is True else ""
        lasts = scope if scope in ("", "once", "always") else f"for {scope}"
        return joined("granted" if granted else "denied", remember, lasts, by=", ")
    outcome = part(result, "outcome") or result
    option = chosen_option(outcome, asked or {})
    name = word(option, "name")
    what = joined(word(option, "kind"), f"'{name}'" if name else "")
    return joined(word(outcome, "outcome"), what or word(option, "optionId"))


def chosen_option(outcome: Value, asked: Value) -> Value:
    """Returns the option that an outcome selects; only its id if the request does not offer it.

    Args:
        outcome: of the answer to a permission request.
        asked: the params of the request.
    """
    chosen = word(outcome, "optionId")
    offered = (one for one in parts(asked, "options") if word(one, "optionId") == chosen)
    return next(offered, {"optionId": chosen}) if chosen else {}


def elicitation(params: Value) -> str:
    """Describes a form, or a page to open."""
    schema = part(params, "requestedSchema")
    required = schema.get("required")
    must = required if isinstance(required, list) else []
    fields = listed(f"{name}{'*' if name in must else ''}" for name in part(schema, "properties"))
    return joined(
        word(params, "message", "title"),
        f"[fields {fields}]" if fields else "",
        word(params, "url"),
    )


def elicitation_result(result: Value) -> str:
    """Describes the answer to a form."""
    filled = part(result, "content")
    return joined(
        word(result, "action"), listed(f"{k}={compact(v)}" for k, v in filled.items()), by=": "
    )


def _draft_permission(params: Value) -> str:
    """Describes an operation on a resource; the 1.0 draft offers no options."""
    call, title = word(params, "toolCallId"), word(part(params, "toolCall"), "title")
    call = f"{title}, {short_id(call)}" if call and title else call
    return joined(
        joined(word(params, "operation"), word(params, "resource")),
        joined(word(params, "reason"), f"({call})" if call else ""),
        by=": ",
    )


def _command(subject: Value) -> str:
    folder = word(subject, "cwd")
    return joined(word(subject, "command"), f"(in {folder})" if folder else "")


def _option(option: Value) -> str:
    name, kind = word(option, "name", "optionId"), word(option, "kind")
    return f"{name} ({kind})" if name and kind else name or kind
