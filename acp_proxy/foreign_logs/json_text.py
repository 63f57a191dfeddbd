"""Reads messages that are nearly JSON: pretty printed, cut by a person, or written by Python.

What is changed is the spelling alone, except where somebody has put ``...`` for a part of a
message: dots take its place, and the caller is told so.
"""

import ast
import json
import re
from typing import Any, NamedTuple
from warnings import catch_warnings, simplefilter

from acp_proxy.foreign_logs.elisions import mend_elisions
from acp_proxy.protocol.json_text import members, parse

_LONGEST_LITERAL = 1 << 20
_DEEPEST_LITERAL = 60
_STRING = rb'("(?:[^"\\]++|\\.|\\\Z)*+(?:"|\Z))'
"""A string, also one that does not end; so that no text is looked at twice."""
_SPACE = re.compile(_STRING + rb"|\s++", re.DOTALL)
_LAST_COMMA = re.compile(_STRING + rb"|,(?=\s*+[}\]]|\s*+\Z)", re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_BRACKETS = re.compile(
    r"""'(?:[^'\\]++|\\.|\\\Z)*+(?:'|\Z)|"(?:[^"\\]++|\\.|\\\Z)*+(?:"|\Z)|([{\[(])|([}\])])""",
    re.DOTALL,
)


class ReadMessage(NamedTuple):
    """A message that was read from a log."""

    raw: bytes
    """Its JSON, in one line."""
    value: Any
    is_elided: bool = False
    """Whether somebody has left out a part of it."""


def read_message(text: bytes, *, repairs: bool = False) -> ReadMessage | None:
    """Reads the text of one value.

    Args:
        text: JSON in any layout.
        repairs: whether it may come from a person, who has left out parts, or from Python.

    Returns:
        None if it cannot be read.
    """
    text = text.strip()
    if (value := _parsed(text)) is not None:
        is_one_line = b"\n" not in text and b"\r" not in text
        return ReadMessage(text if is_one_line else without_layout(text), value)
    if (spelled := _with_escapes(text)) is not None:
        return ReadMessage(without_layout(spelled), _parsed(spelled))
    if not repairs:
        return None
    if (found := _python_literal(text)) is not None:
        return found
    without_commas = _LAST_COMMA.sub(rb"\1", text)
    if (value := _parsed(without_commas)) is not None:
        return ReadMessage(without_layout(without_commas), value)
    if (mended := _mended(without_commas)) is not None:
        return ReadMessage(mended, _parsed(mended), is_elided=True)
    return None


def _mended(text: bytes) -> bytes | None:
    if len(text) > _LONGEST_LITERAL:
        return None
    mended = mend_elisions(text.decode(errors="replace"))
    return None if mended is None or _parsed(mended.encode()) is None else mended.encode()


def member_texts(raw: bytes) -> dict[str, bytes] | None:
    """Returns the members of an object that `read_message` has read, each as it is written.

    Returns:
        None if a value is nested too deeply.
    """
    text = raw.decode()
    try:
        return {one.key: text[one.start : one.end].encode() for one in members(text)}
    except (ValueError, IndexError, RecursionError):
        return None


def without_layout(text: bytes) -> bytes:
    """Returns JSON without the spaces and newlines between its tokens; their spelling stays."""
    return _SPACE.sub(rb"\1", text)


def _parsed(text: bytes) -> Any:
    """Returns an object or array; None if it is not JSON, or anything else."""
    if text[:1] not in (b"{", b"["):
        return None
    try:
        text.decode()
        return parse(text)
    except (ValueError, RecursionError):
        return None


def _with_escapes(text: bytes) -> bytes | None:
    """Returns JSON with escapes for control characters that stand in its strings as they are."""
    if _CONTROL.search(text) is None:
        return None
    spelled = _SPACE.sub(_escaped, text)
    return spelled if _parsed(spelled) is not None else None


def _escaped(match: re.Match[bytes]) -> bytes:
    string: bytes | None = match[1]
    if string is None:
        return b" "
    return _CONTROL.sub(lambda found: b"\\u%04x" % found[0][0], string)


def _python_literal(text: bytes) -> ReadMessage | None:
    """Reads a dictionary that Python has printed; None if it is none, or holds more than JSON."""
    if not text.startswith((b"{'", b"[{'")) or len(text) > _LONGEST_LITERAL:
        return None
    try:
        source = text.decode()
        if _depth(source) > _DEEPEST_LITERAL:
            return None
        with catch_warnings():
            simplefilter("ignore")  # of escapes that Python does not know
            value = ast.literal_eval(source)
        raw = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        if not _is_json(value):
            return None
        return ReadMessage(raw.encode(), value)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _depth(source: str) -> int:
    """Returns how deep the brackets of a text are nested, strings excluded."""
    depth = deepest = 0
    for match in _BRACKETS.finditer(source):
        depth += bool(match[1]) - bool(match[2])
        deepest = max(deepest, depth)
    return deepest


def _is_json(value: Any) -> bool:
    """Whether a literal of Python is JSON: no tuples, sets, bytes or complex numbers."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(each) for key, each in value.items())
    if isinstance(value, list):
        return all(map(_is_json, value))
    return value is None or isinstance(value, str | bool | int | float)
