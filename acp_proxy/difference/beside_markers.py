"""Hides text in one recording where the other one has a marker of a secret.

What is masked in one recording may be a secret in the other one that no rule knows there, as a
short one is in a sentence. Texts are aligned word by word, so that what is around it stays.
"""

import re
from itertools import groupby
from typing import Any

from acp_proxy.difference.defaults import SECRET
from acp_proxy.difference.result import Field
from acp_proxy.difference.rules import PLACEHOLDER
from acp_proxy.inspection.text_diff import Piece, word_diff
from acp_proxy.redaction.markers import HIDDEN, MARKER, hidden, strings

_NAME = PLACEHOLDER.format(rf"(?:«{SECRET}:\d+»|{SECRET}:\d+|«{MARKER.pattern}»|{MARKER.pattern})")
_SECRET = re.compile(f"{_NAME}|{MARKER.pattern}")
_SPOT = "\ue00f"
"""Stands for any marker while texts are aligned: which secret it is does not count."""


def hide_secrets(one: Field) -> Field:
    """Returns a place that differs, in which each side is hidden where only the other has a marker.

    Args:
        one: the place, with marked names.
    """
    if one.only is not None:
        return one
    if isinstance(one.a, str) and isinstance(one.b, str):
        return Field(one.pointer, *_texts(one.a, one.b))
    has_a, has_b = _has_secret(one.a), _has_secret(one.b)
    return Field(
        one.pointer,
        hidden(one.a) if has_b and not has_a else one.a,
        hidden(one.b) if has_a and not has_b else one.b,
    )


def is_hidden(value: Any) -> bool:
    """Whether a part of a value is hidden."""
    return any(HIDDEN in text for text in strings(value))


def _texts(a: str, b: str) -> tuple[str, str]:
    names_a, names_b = ([match[0] for match in _SECRET.finditer(text)] for text in (a, b))
    if not (names_a or names_b):
        return a, b
    pieces = word_diff(_SECRET.sub(_SPOT, a), _SECRET.sub(_SPOT, b))
    shown_a = shown_b = ""
    for is_same, group in groupby(pieces, lambda piece: piece[0] == "="):
        if is_same:
            same = "".join(text for _, text in group)
            shown_a, shown_b = shown_a + same, shown_b + same
            continue
        old, new = _change([*group])
        shown_a, shown_b = shown_a + old, shown_b + new
    return _with_names(shown_a, names_a), _with_names(shown_b, names_b)


def _change(pieces: list[Piece]) -> tuple[str, str]:
    """Returns both sides of a change; the side with fewer markers is hidden."""
    old = "".join(text for op, text in pieces if op == "-")
    new = "".join(text for op, text in pieces if op == "+")
    of_old, of_new = old.count(_SPOT), new.count(_SPOT)
    return (
        _around_spots(old) if of_old < of_new else old,
        _around_spots(new) if of_new < of_old else new,
    )


def _around_spots(text: str) -> str:
    """Hides all but the markers in a text."""
    return _SPOT.join(HIDDEN if part.strip() else part for part in text.split(_SPOT))


def _with_names(text: str, names: list[str]) -> str:
    found = iter(names)
    return re.sub(_SPOT, lambda _: next(found, _SPOT), text)


def _has_secret(value: Any) -> bool:
    return any(_SECRET.search(text) for text in strings(value))
