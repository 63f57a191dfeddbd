"""Reads the facts about an action from a tool call or from a request to the client.

Each dialect writes these facts in another way: v1 in ``locations`` and in diffs in ``content``, v2
also in ``changes``, and the 1.0 draft in ``tool``, ``input`` and ``output``. Each agent has its own
names for the arguments of its tools. If a message has two different paths, both are kept.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import define, field

from acp_proxy.base.limits import PARTS
from acp_proxy.explain.audit.audit_values import Action, ActionKind
from acp_proxy.explain.describe.content_texts import command_of
from acp_proxy.explain.describe.phrases import Value, part, parts, word
from acp_proxy.explain.describe.tool_texts import given_to
from acp_proxy.protocol.tool_calls import call_of

_KINDS = {
    "read": ActionKind.READ, "search": ActionKind.SEARCH, "edit": ActionKind.WRITE,
    "delete": ActionKind.DELETE, "move": ActionKind.MOVE, "execute": ActionKind.RUN,
    "fetch": ActionKind.FETCH,
}  # fmt: skip
"""The kinds of actions by the kind of the tool in v1 and v2."""
_OPERATIONS = {
    "file_read": ActionKind.READ, "file_write": ActionKind.WRITE, "file_delete": ActionKind.DELETE,
    "terminal_execute": ActionKind.RUN, "network_access": ActionKind.FETCH,
}  # fmt: skip
"""The kinds of actions by the operation in a permission request of the 1.0 draft."""
_METHODS = {
    "fs/read_text_file": ActionKind.READ,
    "fs/write_text_file": ActionKind.WRITE,
    "terminal/create": ActionKind.RUN,
}
"""The kinds of actions by the request's method. All other methods mean `OTHER`."""
_PATHS = (
    "file_path", "filePath", "filepath", "path", "paths", "absolute_path", "absolutePath",
    "notebook_path", "target_file", "targetFile", "dir_path", "file", "files", "filename",
    "old_path", "oldPath", "new_path", "newPath",
)  # fmt: skip
"""Names of arguments that are paths in every tool."""
_MOVED = ("source", "destination", "from", "to", "src", "dst")
"""Names of arguments that are paths if the tool moves a file."""
_DIRECTORIES = ("cwd", "workdir", "working_directory", "workingDirectory", "directory", "dir_path")
"""Names of arguments that contain the directory in which a command runs."""
_URLS = ("url", "urls", "uri", "href")
_URL = re.compile(r"https?://[^\s<>\"'`]{1,2000}")
_DIRECTORY_TEXT = re.compile(r"\[current working directory ([^\]\n]{1,1000})\]")
"""The words with which Gemini names the directory of a command."""
_SHELL = re.compile(r"(?P<shell>(?:/\S*/)?(?:ba|da|z)?sh -l?c ).+")
_SPECIAL = re.compile(r"[^\w /.,:=@%+'\"-]")
"""A character that may have a meaning for a shell, unless it is quoted."""


@define
class Statement:
    """The facts about an action in one message. A fact that the message lacks is None or empty."""

    kind: ActionKind | None = None
    title: str | None = None
    tool: str | None = None
    status: str | None = None
    paths: list[tuple[str, str | None]] = field(factory=list)
    """The paths, each with the operation of its diff; None without a diff."""
    command: str | None = None
    directory: str | None = None
    url: str | None = None
    terminals: list[str] = field(factory=list)
    exit_code: int | None = None
    exit_signal: str | None = None


def of_call(call: Value) -> Statement:
    """Returns the facts in a tool call, or in an update of a tool call, in any dialect."""
    tool = word(call, "tool", "name") or word(part(part(call, "_meta"), "claudeCode"), "toolName")
    said = Statement(
        kind=_kind(call, tool),
        title=word(call, "title") or None,
        tool=tool or None,
        status=word(call, "status") or None,
    )
    content = [*_items(call.get("content")), *_items(call.get("output"))]
    said.paths = [*_located(call)]
    for item in content:
        said.paths += _changed(item)
        if terminal := word(item, "terminalId"):
            said.terminals.append(terminal)
        if word(item, "type") == "terminal" and (command := command_of(item)):  # 1.0 draft
            said.command = command
        read_exit(said, item)
        if match := _DIRECTORY_TEXT.search(word(part(item, "content"), "text")[:2000]):
            said.directory = match[1]
    if said.kind in (None, ActionKind.READ, ActionKind.SEARCH, ActionKind.OTHER):
        # A diff changes files and a terminal runs a command, whatever kind the agent announces.
        if any(operation for _, operation in said.paths):
            said.kind = ActionKind.WRITE
        elif said.terminals:
            said.kind = ActionKind.RUN
    _read_arguments(said, given_to(call))
    read_exit(said, part(call, "rawOutput"))
    said.paths = [*dict.fromkeys(said.paths)][:PARTS]
    return said


def of_permission(params: Value) -> Statement:
    """Returns the facts about the action in a permission request, in any dialect."""
    subject = part(params, "subject")
    said = of_call(call_of(params))
    said.title = word(params, "title") or said.title
    if command := command_of(subject):
        said.kind, said.command = ActionKind.RUN, command
        said.directory = word(subject, "cwd") or None
    if operation := word(params, "operation"):
        said.kind, resource = _OPERATIONS.get(operation, ActionKind.OTHER), word(params, "resource")
        said.tool, said.title = operation, word(params, "reason") or said.title
        if said.kind is ActionKind.RUN:
            said.command = resource or None
        elif said.kind is ActionKind.FETCH:
            said.url = resource or None
        elif said.kind is not ActionKind.OTHER and resource:
            said.paths.append((resource, None))
        else:
            said.title = " ".join(filter(None, (resource, said.title))) or None
    return said


def of_request(method: str, params: Value) -> Statement:
    """Returns the facts about the action in a request to the client.

    Args:
        method: the method of the request.
        params: the params of the request.
    """
    said = Statement(kind=_METHODS.get(method, ActionKind.OTHER), tool=method)
    if method == "terminal/create":
        said.command, said.directory = command_of(params), word(params, "cwd") or None
    elif method.startswith("fs/"):
        said.paths = [*((path, None) for path in _strings(params, (*_PATHS, *_MOVED)))]
    else:
        inner = word(params, "mcpMethod") or word(params, "method")
        server = word(params, "serverName", "serverId", "acpId", "connectionId")
        said.title = " ".join(filter(None, (inner, server))) or None
    return said


def of_terminal(update: Value) -> Statement:
    """Returns the facts in a ``terminal_update`` of v2. The agent runs the terminal."""
    said = Statement(kind=ActionKind.RUN, command=command_of(update))
    said.directory = word(update, "cwd") or None
    said.terminals = [word(update, "terminalId")]
    read_exit(said, part(update, "exitStatus"))
    return said


def read_exit(said: Statement, result: Value) -> None:
    """Copies the exit code and the signal of a message, if there are any, into a statement.

    Args:
        said: the statement. It is changed.
        result: an object that may contain an exit code or a signal; the name differs by dialect.
    """
    for name in ("exitCode", "exit_code"):
        code = result.get(name)
        if isinstance(code, int) and not isinstance(code, bool):
            said.exit_code = code
    said.exit_signal = word(result, "signal") or said.exit_signal


def normal_command(text: str | None) -> str:
    """Returns a command line without ``sh -c``, with uniform blanks and quotes, for comparisons."""
    line = " ".join((text or "").split()).strip("`")
    if match := _SHELL.fullmatch(line):
        words = _words(line[match.end("shell") :])
        line = " ".join(words[0].split()) if len(words) == 1 else line
    if _SPECIAL.search(line):
        return line
    return " ".join(map(shlex.quote, _words(line))) or line


def is_alike(action: Action, other: Action) -> bool:
    """Whether two actions are about the same file or the same command.

    Args:
        action: an action, possibly of unknown kind.
        other: another action.
    """
    if action.kind not in (other.kind, ActionKind.OTHER):
        return False
    if other.kind is ActionKind.RUN:
        command = normal_command(other.command)
        return bool(command) and command in map(normal_command, (action.command, action.title))
    return share_path(action, other)


def share_path(action: Action, other: Action) -> bool:
    """Whether two actions have a path in common.

    Args:
        action: an action.
        other: another action.
    """
    return not {path.shown for path in action.paths}.isdisjoint(path.shown for path in other.paths)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return []


def _kind(call: Value, tool: str) -> ActionKind | None:
    if kind := word(call, "kind"):
        return _KINDS.get(kind, ActionKind.OTHER)
    if tool and "/" in tool:
        return _METHODS.get(tool, ActionKind.OTHER)
    return None


def _items(content: Any) -> Iterator[Value]:
    items = content if isinstance(content, list) else [content]
    return (item for item in items[:PARTS] if isinstance(item, dict))


def _located(call: Value) -> Iterator[tuple[str, None]]:
    for place in (*parts(call, "locations")[:PARTS], part(call, "location")):
        if path := word(place, "path", "uri"):
            yield path, None


def _changed(item: Value) -> Iterator[tuple[str, str | None]]:
    """Yields the path of each file that a diff changes, with the operation, such as ``add``."""
    if word(item, "type") == "diff" and (path := word(item, "path")):
        operation = "add" if "oldText" in item and item["oldText"] is None else "modify"
        yield path, operation
    for change in parts(item, "changes")[:PARTS]:
        operation = word(change, "operation") or "modify"
        for name in ("oldPath", "path", "newPath"):
            if path := word(change, name):
                yield path, operation


def _read_arguments(said: Statement, given: Any) -> None:
    """Adds the facts in a tool's arguments to a statement. Agents name arguments differently."""
    if not isinstance(given, dict):
        return
    said.command = command_of(given) or said.command
    if said.kind is ActionKind.RUN or (said.kind is None and said.command is not None):
        said.directory = word(given, *_DIRECTORIES) or said.directory
    else:
        names = (*_PATHS, *_MOVED) if said.kind is ActionKind.MOVE else _PATHS
        said.paths += ((path, None) for path in _strings(given, names) if "\n" not in path)
        if isinstance(changes := given.get("changes"), dict):  # Codex: the keys are paths
            said.paths += ((path, None) for path in [*changes][:PARTS] if path)
    said.url = next(_strings(given, _URLS), None) or said.url
    if said.kind is ActionKind.FETCH and said.url is None:
        text = f"{word(given, 'prompt')[:5000]} {said.title or ''}"
        match = _URL.search(text)
        said.url = match[0] if match else None


def _strings(value: Value, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        given = value.get(name)
        for item in given[:PARTS] if isinstance(given, list) else [given]:
            if isinstance(item, str) and item:
                yield item
