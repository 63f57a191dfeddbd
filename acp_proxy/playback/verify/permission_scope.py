"""Finds the scope of a permission request: the action that it asks permission for.

The scope is the whole request with the earlier announcements of its tool call. Left out are members
that do not describe the action: titles, reasons, options, ids, times, and the line of a location.

Two scopes are the same if they are equal, or become equal when live directories replace recorded
directories.

Some requests contain no more than the kind of an action and a description. Two such requests cannot
be compared: even if they are equal, they may be about different actions.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from attrs import evolve

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.comparison import Comparer, Difference, Mask, shown
from acp_proxy.protocol.dialects import PERMISSION
from acp_proxy.protocol.json_text import member, params_of, parts_of
from acp_proxy.protocol.permissions import options_of
from acp_proxy.protocol.typed_places import places_of

_ENVELOPE = frozenset(
    {"sessionId", "toolCallId", "options", "title", "description", "reason", "_meta"}
)
"""Members of the params, and of a subject in v2, that are not compared."""
_OF_CALL = frozenset({
    "toolCallId", "id", "title", "status", "rawOutput", "output", "error", "duration",
    "requiresPermission", "_meta",
})  # fmt: skip
"""Members of a tool call that are not compared."""
_KINDS = frozenset({"kind", "tool", "name", "operation", "type"})
"""Members that contain the kind of an action but not its object."""
_LOCATED = frozenset({"read", "edit", "delete", "move", "search", "fetch", "think", "switch_mode"})
"""Kinds of tool calls that a location identifies. (A command only runs at its location.)"""
_WHERE = frozenset(
    {"cwd", "workdir", "workingdirectory", "location", "locations", "timeout", "timeoutms", "title"}
)
"""Names, in lower case and without underscores, of members that do not identify a command."""
_IDS = frozenset({"callid", "turnid", "toolcallid", "tooluseid", "requestid", "sessionid"})
"""Names, in lower case and without underscores, of ids of the conversation."""
_EARLIEST = 1e9
"""The lowest number that counts as a time (in seconds since 1970). A lower number may be the number
of a line."""
_TIMES = re.compile(r"timestamp|.*_at(_ms)?|.*[a-z]At(Ms)?")
_WORD = re.compile(r"[\w-]*")
_COMMANDS = frozenset({"command", "cmd"})
_NOTHING: tuple[Any, ...] = (None, "", [], {})


def scope(request: Any, announced: Mapping[str, Any]) -> Any:
    """Returns the scope of a request, in the structure of the request.

    Args:
        request: the request, decoded.
        announced: the announced members of the request's tool call, see `ToolCalls.announced`. The
            request's own members take precedence.

    Returns:
        An object with ``params``; None if the request is nested too deeply to be read.
    """
    try:
        return {"params": _scope(params_of(request), announced)}
    except RecursionError:
        return None


def differences(
    recorded: Any, live: Any, bindings: Bindings, mask: Mask | None = None
) -> tuple[Difference, ...]:
    """Returns the differences of two scopes; empty if the scopes are the same.

    Args:
        recorded: the recorded scope.
        live: the live scope.
        bindings: the live values of recorded values.
        mask: masks the parts of a scope that are shown, see `Comparer`.
    """
    deep = (Difference("/params", "(nested too deeply)", "(nested too deeply)"),)
    if recorded is None or live is None:
        return deep
    comparer = Comparer(bindings, mask=mask)
    if not _differences(comparer, recorded, live, {}):
        return ()
    try:
        written = moved(recorded, bindings)
    except RecursionError:
        return deep
    places = places_of("request", PERMISSION)
    result = _differences(comparer.after_rewriting, written, live, places)
    return tuple(as_recorded(result, recorded, written))


def names_something(value: Any) -> bool:
    """Whether a scope names the object of the action; otherwise the scope cannot be compared."""
    params = member(value, "params")
    subject = member(params, "subject")
    calls = (member(params, "toolCall"), member(subject, "toolCall"))
    return any(
        _names_something(holder) for holder in (params, subject, *calls) if isinstance(holder, dict)
    )


def title_of(request: Any, announced: Mapping[str, Any]) -> str:
    """Returns the title of a request, or else its action; empty if both are missing.

    Args:
        request: the request, decoded.
        announced: the announced members of the request's tool call.
    """
    params = params_of(request)
    subject = params.get("subject")
    for holder in (params.get("toolCall"), member(subject, "toolCall"), params, announced):
        title = member(holder, "title")
        if isinstance(title, str) and title:
            return title
    if isinstance(operation := params.get("operation"), str):
        resource = params.get("resource")
        return f"{operation} {resource}" if resource else operation
    raw = announced.get("rawInput")
    command = member(raw, "command") or member(subject, "command") or params.get("command")
    return command if isinstance(command, str) else _written(command) if command else ""


def texts_of(request: Any, announced: Mapping[str, Any]) -> list[Any]:
    """Returns the texts that explain a request to a person; the title is first.

    Args:
        request: the request, decoded.
        announced: the announced members of the request's tool call.
    """
    params, names = params_of(request), ("title", "description", "reason")
    texts = [member(holder, name) for holder in (params, params.get("subject")) for name in names]
    options = [[option.get("name"), option.get("kind")] for option in options_of(request)]
    title = title_of(request, announced)
    return [title, announced.get("title") or title, *texts, sorted(options, key=str)]


def moved(value: Any, bindings: Bindings) -> Any:
    """Returns a recorded value with live directories in place of recorded directories.

    Args:
        value: the value, decoded.
        bindings: the live names of recorded directories.

    Raises:
        RecursionError: the value is nested too deeply.
    """
    return json.loads(bindings.rewritten(json.dumps(value, ensure_ascii=False)))


def as_recorded(result: Iterable[Difference], recorded: Any, written: Any) -> Iterator[Difference]:
    """Yields the differences. If one shows a rewritten value, the recorded value is added to it.

    Args:
        result: the differences from a value that was rewritten for this run.
        recorded: the value before it was rewritten.
        written: the value after it was rewritten.
    """
    for item in result:
        now, was = (_shown_at(value, item.pointer) for value in (written, recorded))
        # A masked difference does not contain the value as it was recorded.
        is_literal = now is not None and now == (item.recorded_as or item.recorded)
        yield evolve(item, recorded_as=was) if is_literal and was != item.recorded else item


def _shown_at(value: Any, pointer: str) -> str | None:
    for key in parts_of(pointer):
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return shown(value)


def _differences(
    comparer: Comparer, recorded: Any, live: Any, places: dict[str, Any]
) -> tuple[Difference, ...]:
    """Returns all differences, even at places where other comparisons allow any value."""
    compared = comparer.params(PERMISSION, recorded, live, places)
    chosen = (
        Difference(f"/params ({place.value})", shown(old), shown(new))
        for place, old, new in compared.proposals
        if old != new
    )
    return (*compared.differences, *compared.conflicts, *chosen)


def _scope(params: dict[str, Any], announced: Mapping[str, Any]) -> dict[str, Any]:
    members = {name: value for name, value in params.items() if name not in _ENVELOPE}
    subject, call = members.get("subject"), members.get("toolCall")
    if isinstance(subject, dict):
        inner = {name: value for name, value in subject.items() if name not in _ENVELOPE}
        if isinstance(nested := inner.get("toolCall"), dict):
            inner["toolCall"] = _call(nested, announced)
            announced = {}
        members["subject"] = _counting(inner)
    if announced or isinstance(call, dict):
        members["toolCall"] = _call(call if isinstance(call, dict) else {}, announced)
    return _counting(members)


def _counting(value: dict[str, Any]) -> dict[str, Any]:
    """Returns the members of an object that are compared; empty members count as missing."""
    return {name: inner for name, inner in _stripped(value) if inner not in _NOTHING}


def _call(call: dict[str, Any], announced: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a tool call with all its members that are known at the time of the request."""
    given = {name: value for name, value in call.items() if value is not None}
    both = {**announced, **given}
    if isinstance(locations := both.get("locations"), list):
        both["locations"] = [_without_line(item) for item in locations]
    if "location" in both:
        both["location"] = _without_line(both["location"])
    return _counting({name: value for name, value in both.items() if name not in _OF_CALL})


def _written(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return ""


def _without_line(location: Any) -> Any:
    if not isinstance(location, dict):
        return location
    return {name: value for name, value in location.items() if name != "line"}


def _stripped(value: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yields the members of an object. Leaves out, at any depth, members that are not compared."""
    has_command = any(value.get(name) for name in _COMMANDS)
    for name, inner in value.items():
        # A text beside a command is for a person; only the command itself is compared.
        is_text = has_command and name == "description" and isinstance(inner, str)
        if is_text or _is_noise(name, inner):
            continue
        yield name, _plain(inner)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return dict(_stripped(value))
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _is_noise(name: str, value: Any) -> bool:
    """Whether a member differs in every run: an id of the conversation or a time."""
    if name == "_meta":
        return True
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    if name.lower().replace("_", "") in _IDS:
        return True
    if isinstance(value, str) or value < _EARLIEST:
        return False
    return _TIMES.fullmatch(name) is not None


def _names_something(holder: dict[str, Any]) -> bool:
    where = frozenset() if holder.get("kind") in _LOCATED else _WHERE
    for name, value in holder.items():
        if name in ("toolCall", "subject"):
            continue
        if _changes_a_file(value) if name == "content" else _names_object(name, value, where):
            return True
    return False


def _names_object(name: str, value: Any, where: frozenset[str]) -> bool:
    """Whether a member, or a member below it, names the object of the action.

    No object is named by booleans, kinds of actions, texts for a person, or members whose names are
    in ``where``.
    """
    if name.lower().replace("_", "") in where:
        return False
    if isinstance(value, dict):  # the names of its members may be paths
        return any(
            _WORD.fullmatch(inner) is None or _names_object(inner, below, where)
            for inner, below in value.items()
        )
    if isinstance(value, list):
        return any(_names_object(name, below, where) for below in value)
    is_kind = name in _KINDS or name == "description"
    return not is_kind and not isinstance(value, bool) and value not in _NOTHING


def _changes_a_file(content: Any) -> bool:
    """Whether the content of a tool call names or changes a file."""
    items = content if isinstance(content, list) else [content]
    return any(member(item, "path") or member(item, "changes") for item in items)
