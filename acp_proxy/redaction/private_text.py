"""Makes the replacement of private text: people cannot read it, but rules can still check it.

A replacement keeps the length of the text, words that a schema enumerates, and whether a path is
absolute. Otherwise a masked recording would break rules that the original recording obeys.
"""

import json
import pathlib
import re
from functools import cache

from acp_proxy.protocol.json_text import parts_of
from acp_proxy.protocol.vocabulary import TABLE, Role
from acp_proxy.redaction.secret_places import Path

ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")
"""Matches the start of an absolute path, on POSIX or on Windows."""
_SHOWN = re.compile(r"\S")
_BLANKED = re.compile(rf"(?:{ABSOLUTE.pattern})?(?=\s*x)[x\s]+=*")
_PATHS = frozenset(
    parts_of(position.pointer)[-1]
    for position in TABLE
    if position.role in (Role.PATH, Role.DIRECTORY)
) - {"*"}


def blanked(text: str) -> str:
    """Returns a text in which each character is ``x``, except white space and base64 padding."""
    padding = len(text) - len(text.rstrip("="))
    return _SHOWN.sub("x", text[: len(text) - padding]) + "=" * padding


def private_text(text: str, path: Path) -> str:
    """Returns the replacement of a text, which must contain no secrets.

    Args:
        text: the text.
        path: the keys that lead to the text; ``*`` for an item of an array.
    """
    name = next((key for key in reversed(path) if key != "*"), "")
    if text in _enumerated().get(name, ()):
        return text
    if name in _PATHS and (start := ABSOLUTE.match(text)):
        return start[0] + blanked(text[start.end() :])
    return blanked(text)


def is_blanked(text: str) -> bool:
    """Whether a text is a replacement; to be called only if the private text is masked."""
    return _BLANKED.fullmatch(text) is not None


@cache
def _enumerated() -> dict[str, list[str]]:
    file = pathlib.Path(__file__).with_name("enumerated.json")
    words: dict[str, list[str]] = json.loads(file.read_text("utf-8"))
    return words
