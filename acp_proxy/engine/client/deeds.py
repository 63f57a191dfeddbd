"""What a permission request asks leave for, and whether two ask leave for the same.

Told by what is done: the kind of tool, the command or the files of its input, its locations, and
the files that it changes. Ids, times, the working directory and what is written into a file do not
count, nor does the title, unless there is too little else.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from acp_proxy.engine.client.reading import member, params_of
from acp_proxy.engine.comparison import Comparer, Difference, shown
from acp_proxy.engine.script import PERMISSION

Rewritten = Callable[[str], str]
"""Puts live directories into a piece of JSON."""
_TOLD = ("rawInput", "locations", "location", "content", "command", "args", "resource", "path")
"""Members of a tool call, or of another subject, that tell what is done."""
# fmt: off
_DOING = frozenset({
    "command", "commands", "cmd", "argv", "args", "program", "executable", "script", "code",
    "sql", "query", "action", "operation", "path", "paths", "file", "files", "filename",
    "filepath", "filepaths", "abspath", "absolutepath", "notebookpath", "targetfile", "directory",
    "source", "destination", "src", "dst", "oldpath", "newpath", "movepath", "uri", "uris", "url",
    "urls", "tool", "toolname", "server", "servername",
})
# fmt: on
"""Names, in lower case and without underscores, of what does something or what it is done to."""
_CHANGES = "changes"
"""Files and what becomes of them: an object by their paths, or a list."""
_NOISE = re.compile(
    r"_meta|cwd|description|timestamp|.*(call|turn|use|request|session)_?id|.*_at(_ms)?", re.I
)
_NOTHING: tuple[Any, ...] = (None, "", [], {})


def departs(
    recorded: Any, live: Any, comparer: Comparer, rewritten: Rewritten
) -> tuple[Difference, ...]:
    """Says in what two permission requests ask leave for different things.

    What only one of them tells does not count, but then they need the same title.

    Args:
        recorded: decoded.
        live: decoded.
        comparer: compares them.
        rewritten: puts live directories into a text, as `Bindings.rewritten`.
    """
    try:
        return _departs(recorded, live, comparer, rewritten)
    except RecursionError:
        return (Difference("/params", "(nested too deeply)", "(nested too deeply)"),)


def _departs(
    recorded: Any, live: Any, comparer: Comparer, rewritten: Rewritten
) -> tuple[Difference, ...]:
    (where, old), (_, new) = _subject(recorded), _subject(live)
    before, now = _told(old), _told(new)
    names = [name for name in before if name in now]
    if not names or before.keys() != now.keys():
        names.append("title")
    if isinstance(old.get("kind"), str) and isinstance(new.get("kind"), str):
        names.insert(0, "kind")
    before.update(title=old.get("title"), kind=old.get("kind"))
    now.update(title=new.get("title"), kind=new.get("kind"))
    was, came = ({name: told[name] for name in names} for told in (before, now))
    live_request = _nested(where, came)
    found: tuple[Difference, ...] = ()
    for one in (was, moved(was, rewritten)):
        request = _nested(where, one)
        found = tuple(comparer.params(PERMISSION, request, live_request, {}).differences)
        if not found:
            break
    return found


def deed(request: Any, rewritten: Rewritten | None = None) -> Any:
    """What a request asks leave for, so that it can be looked up; of a recorded one, as it is now.

    Args:
        request: decoded.
        rewritten: as for `departs`, for a recorded request; None for a live one.
    """
    _, subject = _subject(request)
    try:
        told = _told(subject) or {"title": subject.get("title")}
        return told if rewritten is None else moved(told, rewritten)
    except RecursionError:
        return None


def named(request: Any) -> str:
    """What reports call it."""
    _, subject = _subject(request)
    title = subject.get("title")
    if isinstance(title, str):
        return shown(title, 100)
    command = member(subject.get("rawInput"), "command") or subject.get("command")
    return shown(command, 100) if command else "something"


def moved(value: Any, rewritten: Rewritten) -> Any:
    """A recorded value with the live directories in its texts."""
    return json.loads(rewritten(json.dumps(value, ensure_ascii=False)))


def weight(name: str) -> int:
    """How much a member counts that differs: 0 for what is done, 2 for noise, 1 for the rest."""
    if name.lower().replace("_", "") in _DOING or name == "kind":
        return 0
    return 2 if _NOISE.fullmatch(name) else 1


def _subject(request: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """What is asked about, and the way to it; the title may stand beside it."""
    params = params_of(request)
    subject = params.get("subject")
    for way, value in (
        (("toolCall",), params.get("toolCall")),
        (("subject", "toolCall"), member(subject, "toolCall")),
        (("subject",), subject),
    ):
        if isinstance(value, dict):
            return way, {"title": params.get("title"), **value}
    return (), params


def _told(subject: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name in _TOLD:
        value = subject.get(name)
        done = _done(value) if name not in _DOING or isinstance(value, dict) else value
        if done in _NOTHING and name == "rawInput":
            done = _without_noise(value)
        if done not in _NOTHING:
            found[name] = done
    return found


def _done(value: Any) -> Any:
    """What of a value tells what is done; None if nothing does."""
    if isinstance(value, list):
        return [told for told in map(_done, value) if told not in _NOTHING]
    if not isinstance(value, dict):
        return None
    found = {}
    done: Any
    for name, inner in value.items():
        plain = name.lower().replace("_", "")
        if plain == _CHANGES and isinstance(inner, dict):
            done = sorted(inner)
        elif plain in _DOING and not _holds_objects(inner):
            done = inner
        else:
            done = _done(inner)
        if done not in _NOTHING:
            found[name] = done
    return found


def _holds_objects(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, dict) for item in items)


def _without_noise(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_noise(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {k: _without_noise(v) for k, v in value.items() if not _NOISE.fullmatch(k)}


def _nested(way: tuple[str, ...], value: Any) -> Any:
    for name in reversed(("params", *way)):
        value = {name: value}
    return value
