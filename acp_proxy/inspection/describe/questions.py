"""What the agent asks the person, a permission or a form, and the answer."""

from acp_proxy.inspection.describe.tools import (
    places,
    short_id,
    tool_content,
    tool_input,
    tool_label,
    tool_state,
)
from acp_proxy.inspection.describe.values import Value, compact, joined, listed, part, parts, word


def permission(params: Value) -> str:
    """What is to be allowed, what may be answered, and then what it is about in detail."""
    if "operation" in params:
        return _draft_permission(params)
    subject = part(params, "subject")
    call = part(params, "toolCall") or part(subject, "toolCall")
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
    """The choice; with the kind and the name of the option if it is known what was asked.

    Args:
        result: of the answer.
        asked: the params of the request, if they are known.
    """
    if isinstance(granted := result.get("granted"), bool):
        scope = word(result, "scope")
        remember = "remembered" if result.get("remember") is True else ""
        lasts = scope if scope in ("", "once", "always") else f"for {scope}"
        return joined("granted" if granted else "denied", remember, lasts, by=", ")
    outcome = part(result, "outcome") or result
    chosen = word(outcome, "optionId")
    options = parts(asked, "options") if asked is not None else []
    option = next((o for o in options if chosen and word(o, "optionId") == chosen), {})
    name = word(option, "name")
    what = joined(word(option, "kind"), f"'{name}'" if name else "") or chosen
    return joined(word(outcome, "outcome"), what)


def elicitation(params: Value) -> str:
    """What is to be filled in, or the page to go to."""
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
    """What the person did, and what was filled in."""
    filled = part(result, "content")
    return joined(
        word(result, "action"), listed(f"{k}={compact(v)}" for k, v in filled.items()), by=": "
    )


def elicitation_complete(params: Value) -> str:
    """Which one is done with."""
    return word(params, "elicitationId")


def _draft_permission(params: Value) -> str:
    """An operation on a resource; the 1.0 draft offers no options."""
    call = word(params, "toolCallId")
    return joined(
        joined(word(params, "operation"), word(params, "resource")),
        joined(word(params, "reason"), f"({_call(params, call)})" if call else ""),
        by=": ",
    )


def _call(params: Value, call: str) -> str:
    """The tool call that it is for, by its title if that is known."""
    title = word(part(params, "toolCall"), "title")
    return f"{title}, {short_id(call)}" if title else call


def _command(subject: Value) -> str:
    folder = word(subject, "cwd")
    return joined(word(subject, "command"), f"(in {folder})" if folder else "")


def _option(option: Value) -> str:
    name, kind = word(option, "name", "optionId"), word(option, "kind")
    return f"{name} ({kind})" if name and kind else name or kind
