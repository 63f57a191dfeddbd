"""Adds an entry to settings in JSON with comments, or removes an entry. All other bytes stay.

A new entry becomes the first entry of its object. So one piece of text is inserted, and each
comment stays with its entry.
"""

import json
from collections.abc import Iterable
from typing import Any

from attrs import frozen

from acp_proxy.base.errors import BadSettings
from acp_proxy.editors.jsonc import JsonMember, JsonNode, behind_blanks, behind_line, decode, parse

_UNIT = "  "


@frozen
class Insertion:
    """A piece of text to be inserted into a file."""

    before: bytes
    """The content of the file before the insertion."""
    offset: int
    piece: bytes

    @property
    def after(self) -> bytes:
        """The content of the file after the insertion."""
        return self.before[: self.offset] + self.piece + self.before[self.offset :]


def entries(data: bytes, section: str) -> dict[str, Any]:
    """Returns the entries in a section of settings; none if there is no such section.

    Args:
        data: the content of the file.
        section: the name of the document's member that contains the entries.

    Raises:
        BadSettings: the file cannot be read, or the section is not an object.
    """
    root = parse(decode(data))
    if root is None:
        return {}
    node = _section(root, section)
    return {} if node is None else dict(node.value)


def insertion(data: bytes, section: str, name: str, value: Any) -> Insertion:
    """Returns the insertion that adds an entry to settings.

    Args:
        data: the content of the file; may be empty.
        section: the name of the document's member that contains the entries.
        name: the name of the entry.
        value: the entry, a JSON value.

    Raises:
        BadSettings: the file cannot be read, has no place for the entry, or already has an entry of
            this name.
    """
    text = decode(data)
    place, piece = _piece(text, section, name, value)
    change = Insertion(data, len(text[:place].encode()), piece.encode())
    expected = {**document(data), section: {**entries(data, section), name: value}}
    if document(change.after) != expected:
        raise BadSettings("the entry cannot be added without changing other entries")
    return change


def without(data: bytes, section: str, name: str, value: Any) -> bytes:
    """Returns settings without an entry.

    Args:
        data: the content of the file.
        section: the name of the document's member that contains the entries.
        name: the name of the entry.
        value: the value with which the entry was added.

    Raises:
        BadSettings: the file cannot be read, or the entry was removed or changed later.
    """
    text = decode(data)
    root = parse(text)
    node = None if root is None else _section(root, section)
    member = None if node is None else node.member(name)
    if node is None or member is None:
        raise BadSettings(f"it has no entry {name!r} any more")
    if member.node.value != value:
        raise BadSettings(f"the entry {name!r} has changed since setup wrote it")
    spans = sorted(_spans(text, node, member), reverse=True)
    for start, end in spans:
        text = text[:start] + text[end:]
    rest = text.encode()
    expected = document(data)
    expected[section] = {k: v for k, v in expected[section].items() if k != name}
    if document(rest) != expected:
        raise BadSettings(f"the entry {name!r} cannot be removed without changing other entries")
    return rest


def document(data: bytes) -> dict[str, Any]:
    """Returns settings as a dictionary; empty if there are only blanks and comments.

    Raises:
        BadSettings: the data is not an object in JSON with comments.
    """
    root = parse(decode(data))
    if root is not None and not root.is_object:
        raise BadSettings("expected settings in the form of a JSON object")
    return {} if root is None else root.value


def _section(root: JsonNode, section: str) -> JsonNode | None:
    if not root.is_object:
        raise BadSettings("expected settings in the form of a JSON object")
    members = [member for member in root.members if member.name == section]
    if len(members) > 1:
        raise BadSettings(f"expected {section!r} once, got it {len(members)} times")
    if members and not members[0].node.is_object:
        raise BadSettings(f"{section!r} is not an object")
    return members[0].node if members else None


def _piece(text: str, section: str, name: str, value: Any) -> tuple[int, str]:
    """Returns the index where the text of a new entry is inserted, and this text."""
    root = parse(text)
    newline = _newline(text)
    if root is None:
        lead = newline if text.strip("\ufeff") and text[-1] not in "\r\n" else ""
        lines = format_json({section: {name: value}}, _UNIT)
        return len(text), lead + newline.join(lines) + newline
    unit = _unit(text, root)
    target = _section(root, section)
    if target is None:
        return _prepended(text, root, unit, newline, section, {name: value})
    if target.member(name) is not None:
        raise BadSettings(f"it has an entry {name!r} already")
    return _prepended(text, target, unit, newline, name, value)


def _prepended(
    text: str, target: JsonNode, unit: str, newline: str, name: str, value: Any
) -> tuple[int, str]:
    place, is_new_line = behind_line(text, target.start + 1)
    outer = _indentation(text, target.start)
    first = target.members[0] if target.members else None
    inner = outer + unit
    if first is not None and _is_first_of_line(text, first.start):
        inner = _indentation(text, first.start)
    lines = format_json({name: value}, unit)[1:-1]
    entry = newline.join(inner + line.removeprefix(unit) for line in lines)
    comma = "," if first is not None else ""
    if is_new_line:
        return place, entry + comma + newline
    if first is None:
        return place, newline + entry + newline + outer
    if "\n" in text[target.start : target.end] or "\r" in text[target.start : target.end]:
        return place, newline + entry + comma
    compact = json.dumps({name: value}, ensure_ascii=not _is_encodable(value, name))[1:-1]
    blank = text[target.start + 1 : first.start] if place == target.start + 1 else " "
    return place, f"{blank}{compact},{'' if blank else ' '}"


def _spans(text: str, target: JsonNode, member: JsonMember) -> Iterable[tuple[int, int]]:
    """Yields the ranges to remove: a member, and the comma that would be left over."""
    start, end = member.start, member.node.end
    comma = behind_blanks(text, end)
    is_last = text[comma : comma + 1] != ","
    if not is_last and not text[end:comma].strip():
        end = comma + 1
    elif not is_last:
        yield comma, comma + 1
    before = [other for other in target.members if other.start < start]
    if is_last and before:
        comma = behind_blanks(text, before[-1].node.end)
        yield comma, comma + 1
    rest = len(text[end:]) - len(text[end:].lstrip(" \t"))
    line_end = end + rest
    if _is_first_of_line(text, start) and text[line_end : line_end + 1] in ("\r", "\n"):
        start -= len(_indentation(text, start))
        end = line_end + (2 if text.startswith("\r\n", line_end) else 1)
    elif not is_last:
        end = line_end
    yield start, end


def format_json(value: Any, unit: str, *, depth: int = 0) -> list[str]:
    """Returns a JSON value as lines. Each member of an object has its own line; a list is one line.

    Args:
        value: the value.
        unit: the indentation of one level.
        depth: the indentation of all lines but the first, as a number of levels.
    """
    if isinstance(value, dict) and value:
        lines = ["{"]
        for name, each in value.items():
            first, *rest = format_json(each, unit, depth=depth + 1)
            lines += [f"{unit * (depth + 1)}{_plain(name)}: {first}", *rest]
            lines[-1] += ","
        lines[-1] = lines[-1][:-1]
        return [*lines, f"{unit * depth}}}"]
    return [_plain(value)]


def _plain(value: Any) -> str:
    return json.dumps(value, ensure_ascii=not _is_encodable(value))


def _is_encodable(*values: Any) -> bool:
    """Whether values can be written without escapes. Half of a surrogate pair needs an escape."""
    try:
        json.dumps(values, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _newline(text: str) -> str:
    for place, character in enumerate(text):
        if character == "\r":
            return "\r\n" if text.startswith("\r\n", place) else "\r"
        if character == "\n":
            return "\n"
    return "\n"


def _unit(text: str, root: JsonNode) -> str:
    if root.members and _is_first_of_line(text, root.members[0].start):
        return _indentation(text, root.members[0].start) or _UNIT
    return _UNIT


def _line_start(text: str, place: int) -> int:
    return max(text.rfind("\n", 0, place), text.rfind("\r", 0, place), -1) + 1


def _indentation(text: str, place: int) -> str:
    """Returns the blanks at the beginning of the line that contains an index."""
    line = text[_line_start(text, place) : place].removeprefix("\ufeff")
    return line[: len(line) - len(line.lstrip(" \t"))]


def _is_first_of_line(text: str, place: int) -> bool:
    return not text[_line_start(text, place) : place].strip(" \t\ufeff")
