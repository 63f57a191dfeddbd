"""Reads members of JSON of any shape, and builds the phrases that all descriptions share.

A member of a message may have any type. Therefore describers read members only with the functions
of this module. A *word* is a scalar as text, a *part* is an object, and *parts* are the objects in
an array. Binary data is described by its type and size.
"""

import base64
import re
import string
from collections.abc import Iterable
from typing import Any

from acp_proxy.base.limits import LINE_EDGE, STRING
from acp_proxy.base.wording import byte_size, counted
from acp_proxy.protocol.json_text import parse_or_begin
from acp_proxy.protocol.json_text import word as word

_WHOLE = re.compile(r"[A-Za-z0-9+/_-]{64,}={0,2}")
_WITHIN = re.compile(
    r"data:(?P<type>[\w.+-]{1,40}/[\w.+-]{1,80})[^,\s]{0,80};base64,[A-Za-z0-9+/_=-]*"
    r"|[A-Za-z0-9+/_-]{40,}(?:(?:\r?\n|\\r|\\n)+[A-Za-z0-9+/_-]{40,})*"
    r"(?:(?:\r?\n|\\r|\\n)+[A-Za-z0-9+/_-]{0,40}==?)?={0,2}"
)
"""A data URI, or a run of base64, which may be wrapped into lines."""
_TYPES = ("mimeType", "mediaType", "media_type", "contentType")
_ALPHABET = f"{string.ascii_letters}{string.digits}+/_-="
_SHORTEST = 96
"""The length of the shortest piece of a text that is taken for base64."""


def decoded_size(base64_text: str) -> str:
    """Returns the size of the data that a base64 text encodes, such as ``1.2 kB``."""
    return byte_size(len(base64_text.rstrip("=")) * 3 // 4)


def from_base64(data: object) -> bytes | None:
    """Returns the bytes that a text in base64 stands for; None if the value is not base64."""
    try:
        return base64.b64decode(data, validate=True) if isinstance(data, str) else None
    except ValueError:
        return None


def is_base64(text: str) -> bool:
    """Whether a text looks like base64 and is longer than an id or a digest."""
    return len(text) > 64 and _WHOLE.fullmatch(text) is not None and _is_mixed(text[:4000])


def media(value: dict[str, Any]) -> str:
    """Describes an object that has a media type and data; empty if it lacks one of the two."""
    data = value.get("data", value.get("blob"))
    if not isinstance(data, str):
        return ""
    kind = next((k for key in _TYPES if isinstance(k := value.get(key), str) and k), None)
    if kind is None:
        kind = value.get("type")
        if kind not in ("image", "audio", "base64"):
            return ""
    uri = value.get("uri")
    where = f"{uri}, " if isinstance(uri, str) and uri else ""
    return f"[{where}{kind}, {decoded_size(data)}]"


def beginning(text: str, length: int) -> str:
    """Returns the beginning of a text.

    A short piece of base64 at the end is left out, since it would not be recognized as base64.

    Args:
        text: the text.
        length: the largest number of characters.
    """
    if len(text) <= length:
        return text
    start = text[:length]
    whole = start.rstrip(_ALPHABET)
    return whole if len(start) - len(whole) < _SHORTEST else start


def without_base64(text: str) -> str:
    """Returns a text in which short words replace data URIs and long runs of base64."""
    if len(text) < _SHORTEST and ";base64," not in text:
        return text
    return _WITHIN.sub(_mask, text)


def _mask(match: re.Match[str]) -> str:
    if kind := match["type"]:
        return f"[data: {kind}]"
    run = match[0]
    return "[base64]" if len(run) >= _SHORTEST and _is_mixed(run) else run


def _is_mixed(text: str) -> bool:
    """Whether a text is base64, and not a path or an identifier.

    Two in five characters of base64 are capitals. Base64 has the characters ``+`` and ``/``, or
    ``-`` and ``_``, but never a mixture of these pairs.
    """
    if ("/" in text or "+" in text) and ("-" in text or "_" in text):
        return False
    if sum("A" <= c <= "Z" for c in text) * 6 < len(text):
        return False
    return any("a" <= c <= "z" for c in text) and any("0" <= c <= "9" for c in text)


Value = dict[str, Any]


_WIDEST = (12, 8, 5, 3)
"""The largest number of members of an object or array that are shown, by depth."""


def message_of(raw: bytes) -> Value:
    """Decodes the JSON object in a line that may be cut; empty without an object. Never raises."""
    value = parse_or_begin(raw, LINE_EDGE)
    return value if isinstance(value, dict) else {}


def part(value: Value, key: str) -> Value:
    """Returns a member that is an object; an empty object if the member is anything else.

    Args:
        value: an object.
        key: the name of the member.
    """
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def parts(value: Value, key: str) -> list[Value]:
    """Returns the objects in a member that is an array.

    Args:
        value: an object.
        key: the name of the member.
    """
    items = value.get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def number(value: Value, key: str) -> int | None:
    """Returns a member that is a whole number; None if the member is anything else.

    Args:
        value: an object.
        key: the name of the member.
    """
    count = value.get(key)
    return count if isinstance(count, int) and not isinstance(count, bool) else None


def joined(*pieces: str, by: str = " ") -> str:
    """Joins texts, and leaves out the empty ones.

    Args:
        pieces: texts; some may be empty.
        by: the text between two pieces.
    """
    return by.join(filter(None, pieces))


def bracketed(*pieces: str) -> str:
    """Joins texts with commas, in brackets, and leaves out empty ones; empty if all are empty."""
    inner = joined(*pieces, by=", ")
    return f"[{inner}]" if inner else ""


def phrase(form: str, text: str) -> str:
    """Returns a phrase with a text in it; empty if the text is empty.

    Args:
        form: the phrase, with ``{}`` in the place of the text.
        text: the text that is inserted.
    """
    return form.format(text) if text else ""


def listed(names: Iterable[str], most: int = 6) -> str:
    """Joins at most ``most`` names with commas, and adds how many more names there are.

    Args:
        names: the names. Empty names are left out.
        most: the largest number of names in the result.
    """
    every = [name for name in names if name]
    shown = ", ".join(every[:most])
    return f"{shown}, +{len(every) - most} more" if len(every) > most else shown


def quantity(text: str) -> str:
    """Describes the length of a text, in lines and characters."""
    lines = text.count("\n") + (not text.endswith("\n"))
    of_lines = counted(lines, "line") if len(text) > lines > 1 else ""
    return joined(of_lines, counted(len(text), "character"), by=", ")


def payload(value: Value, *known: str) -> str:
    """Describes the members of an object that has no describer of its own.

    The metadata and the session are described only if there is nothing else.

    Args:
        value: the object.
        known: names of members that are left out.
    """
    rest = {key: inner for key, inner in value.items() if key not in known}
    gist = {key: inner for key, inner in rest.items() if key not in ("_meta", "sessionId")}
    return members(gist or rest)


def members(value: Value) -> str:
    """Lists the members of an object, each as name=value."""
    return compact(value).removeprefix("{").removesuffix("}")


def compact(value: object, depth: int = 0) -> str:
    """Writes a JSON value in a short form: strings without quotes, and binary data by its size.

    Args:
        value: any value of JSON.
        depth: how many objects and arrays contain the value.
    """
    match value:
        case str():
            return _string(value)
        case bool() | None:
            return {True: "true", False: "false", None: "null"}[value]
        case dict():
            return _object(value, depth)
        case list():
            return f"[{_members((compact(x, depth + 1) for x in value), len(value), depth)}]"
    return str(value)


def _string(text: str) -> str:
    if is_base64(text):
        return f"[base64, {decoded_size(text)}]"
    if len(text) > STRING:
        return f"{beginning(text, STRING)}…"
    return text or '""'


def _object(value: Value, depth: int) -> str:
    if shown := media(value):
        return shown
    pairs = (f"{key}={compact(inner, depth + 1)}" for key, inner in value.items())
    return f"{{{_members(pairs, len(value), depth)}}}"


def _members(shown: Iterable[str], count: int, depth: int) -> str:
    if depth >= len(_WIDEST):
        return "…" if count else ""
    first = [text for text, _ in zip(shown, range(_WIDEST[depth]), strict=False)]
    return ", ".join(first) + (f", +{count - len(first)} more" if count > len(first) else "")
