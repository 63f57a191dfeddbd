"""Describes tool calls, and requests that a person answers: permission requests and forms.

A tool call is described by its name, its state, its files and its output.
"""

from typing import Any

from acp_proxy.explain.describe.content_texts import content
from acp_proxy.explain.describe.phrases import (
    Value,
    bracketed,
    compact,
    joined,
    listed,
    message_of,
    part,
    parts,
    payload,
    phrase,
    word,
)
from acp_proxy.protocol.tool_calls import NAMES, CallState, call_of

_LONG, _SHOWN = 24, 6
"""The length of the longest id that is shown whole, and how many characters of a longer id are
shown."""


def call_in(raw: bytes) -> CallState:
    """Returns what a single message reports about a tool call. Never raises."""
    call = CallState()
    call.take(call_of(params_of(raw)))
    return call


def given_to(call: Value) -> Any:
    """Returns the input of a tool, from a message about its call; None without an input."""
    return call.get("rawInput", call.get("input"))


def params_of(raw: bytes) -> Value:
    """Decodes the params of a message, even of a cut message. Never raises."""
    return part(message_of(raw), "params")


def tool_call(call: Value) -> str:
    """Describes a tool call, or an update of a tool call."""
    shown = tool_content(call)
    where = places(call, shown) or ("" if shown else tool_input(call))
    return joined(tool_label(call), tool_state(call), where, shown)


def tool_name(call: Value) -> str:
    """Returns the title of a tool call. Without a title, returns the tool's name or the call's id.

    Many updates contain only the id.
    """
    return word(call, *NAMES, "toolCallId", "id")


def tool_label(call: Value) -> str:
    """Returns the name of a tool call and the end of its id."""
    return call_label(tool_name(call), word(call, "toolCallId", "id"))


def call_label(title: str | None, call_id: str | None) -> str:
    """Returns the label of a tool call in all commands: its title and the end of its id.

    Args:
        title: the title that the agent announced for the call; None without a title.
        call_id: the id of the call; None if it is not known.
    """
    if not call_id or title == call_id:
        return title or call_id or ""
    return f"{title} ({short_id(call_id)})" if title else call_id


def short_id(call_id: str) -> str:
    """Returns a short id unchanged. Of a long id, returns the last characters.

    The ends of ids differ more often than their beginnings.
    """
    return call_id if len(call_id) <= _LONG else f"…{call_id[-_SHOWN:]}"


def tool_state(call: Value) -> str:
    """Describes the kind and the status of a tool call."""
    asks = "needs permission" if call.get("requiresPermission") is True else ""
    kind = word(call, "kind")
    return bracketed("" if kind == "other" else kind, word(call, "status"), asks)


def places(call: Value, shown: str = "") -> str:
    """Lists the files of a tool call, except files in its title or in ``shown``.

    Args:
        call: the tool call.
        shown: a text that is printed next to the list.
    """
    known = f"{word(call, 'title')} {shown}"
    touched = parts(call, "locations") or [part(call, "location")]
    return listed((_place(place, known) for place in touched), most=3)


def tool_input(call: Value) -> str:
    """Describes the input of a tool call, except values that are also in its title."""
    value = given_to(call)
    if not isinstance(value, dict):
        return compact(value) if value else ""
    title = word(call, "title")
    fresh = {k: v for k, v in value.items() if not (isinstance(v, str) and v in title)}
    if "tool" in call and isinstance(path := fresh.get("path"), str):
        return path  # draft-1.0: the tool is a method, and the input its params
    return payload(fresh)


def tool_content(call: Value) -> str:
    """Describes the content or the output of a tool call, and why the call failed."""
    return joined(
        content(call.get("content")) or content(call.get("output")) or _output(call),
        word(call, "error") or payload(part(call, "error")),
    )


def permission(params: Value) -> str:
    """Describes a permission request: the action, the options, and then the details."""
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
        result: the result of the answer.
        asked: the params of the request, with the names of the options; None if they are not known.
    """
    if isinstance(granted := result.get("granted"), bool):
        scope = word(result, "scope")
        remember = "remembered" if result.get("remember") is True else ""
        lasts = scope if scope in ("", "once", "always") else f"for {scope}"
        return joined("granted" if granted else "denied", remember, lasts, by=", ")
    outcome = part(result, "outcome") or result
    option = chosen_option(outcome, asked or {})
    what = joined(word(option, "kind"), phrase("'{}'", word(option, "name")))
    return joined(word(outcome, "outcome"), what or word(option, "optionId"))


def chosen_option(outcome: Value, asked: Value) -> Value:
    """Returns the option that an outcome selects; empty if no option is selected.

    If the request does not offer the selected option, the returned option has only an id.

    Args:
        outcome: the outcome in the answer to a permission request.
        asked: the params of the request.
    """
    chosen = word(outcome, "optionId")
    offered = (option for option in parts(asked, "options") if word(option, "optionId") == chosen)
    return next(offered, {"optionId": chosen}) if chosen else {}


def elicitation(params: Value) -> str:
    """Describes a request to a person to fill in a form, or to open a page."""
    schema = part(params, "requestedSchema")
    required = schema.get("required")
    must = required if isinstance(required, list) else []
    fields = listed(f"{name}{'*' if name in must else ''}" for name in part(schema, "properties"))
    return joined(
        word(params, "message", "title"), phrase("[fields {}]", fields), word(params, "url")
    )


def elicitation_result(result: Value) -> str:
    """Describes the answer to a form."""
    filled = part(result, "content")
    return joined(
        word(result, "action"), listed(f"{k}={compact(v)}" for k, v in filled.items()), by=": "
    )


def _draft_permission(params: Value) -> str:
    """Describes a permission request of the 1.0 draft: an operation on a resource."""
    call, title = word(params, "toolCallId"), word(part(params, "toolCall"), "title")
    call = f"{title}, {short_id(call)}" if call and title else call
    asked = joined(word(params, "operation"), word(params, "resource"))
    return joined(asked, joined(word(params, "reason"), phrase("({})", call)), by=": ")


def _command(subject: Value) -> str:
    return joined(word(subject, "command"), phrase("(in {})", word(subject, "cwd")))


def _option(option: Value) -> str:
    name, kind = word(option, "name", "optionId"), word(option, "kind")
    return f"{name} ({kind})" if name and kind else name or kind


def _place(place: Value, known: str) -> str:
    path, line = word(place, "path"), word(place, "line")
    if line in ("", "0"):  # some agents write 0 for an unknown line
        return "" if path in known else path
    column, end, end_column = (word(place, name) for name in ("column", "endLine", "endColumn"))
    start = joined(line, column, by=":")
    end = joined(end or (line if end_column else ""), end_column, by=":")
    return joined(f"{path}:{start}", end if end not in (line, start) else "", by="-")


def _output(call: Value) -> str:
    value = call.get("rawOutput", call.get("output"))
    if isinstance(value, dict):
        return payload(value)
    if isinstance(value, list) and all(isinstance(x, dict) and "type" in x for x in value):
        return content(value)
    return value if isinstance(value, str) else compact(value) if value else ""
