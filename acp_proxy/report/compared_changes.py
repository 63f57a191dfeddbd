"""Prepares the messages that differ between two recordings for the comparison page.

Of a long text, only the changed words are kept, with a few words around them.
"""

import json
from collections.abc import Sequence
from typing import Any

from attrs import evolve, frozen

from acp_proxy.base.limits import PARTS, SHORT_LIST, SHOWN_VALUE
from acp_proxy.base.system import signal_name
from acp_proxy.base.text_diff import excerpts, readable_diff
from acp_proxy.diff.diff_result import Change, DiffEntry, Field
from acp_proxy.report.facts import Shortened

_BESIDE_PLACES = 100
"""The most characters in the preview of a message if its differing places are shown, too."""
WORDS = {
    Change.CHANGED: ("~", "changed"),
    Change.ONLY_A: ("−", "only in A"),
    Change.ONLY_B: ("+", "only in B"),
    Change.MOVED: (">", "moved"),
}
"""The sign and the meaning of each kind of change."""
_SHORT_TITLES = {"the answer to session/request_permission": "permission"}


@frozen
class ShownText:
    """A part of a value; `differs` says whether the page marks the part as changed."""

    text: str
    differs: bool


@frozen
class ShownPlace:
    """A place where two messages differ, with the value of each side."""

    pointer: str
    a: list[list[ShownText]] | None
    """Excerpts of the value; None if this side has no value at this place."""
    b: list[list[ShownText]] | None
    more: int = 0
    """The number of excerpts left out."""
    number: int = 0
    """Which difference of the page this place shows, counted from 1; 0 if it shows none."""


@frozen
class ShownFrame:
    """A message of A or of B, as the page shows it."""

    seq: int
    frames: int
    preview: str
    t_ns: int | None = None
    took_ns: int | None = None
    """How long the answer took in nanoseconds; None if the message is not an answer."""


@frozen
class ShownChange:
    """A difference: a changed or moved message, or a message that is only in A or only in B."""

    number: int
    """The number of the difference on the page, from 1 on."""
    entry: DiffEntry
    sign: str
    word: str
    apart: str
    a: ShownFrame | None
    b: ShownFrame | None
    places: Shortened[ShownPlace]

    @property
    def sides(self) -> list[ShownFrame]:
        """The messages of A and of B; only one item if the other recording has no such message."""
        return [side for side in (self.a, self.b) if side is not None]


def difference_in_words(change: ShownChange) -> str:
    """Describes a difference in a few words, such as ``permission allow → reject``."""
    title = _SHORT_TITLES.get(change.entry.title, change.entry.title)
    if change.entry.change is not Change.CHANGED or not change.places.items:
        preview = next((side.preview for side in change.sides), "")
        return ": ".join(filter(None, (f"{title} {change.word}", preview)))
    place = change.places.items[0]
    key = place.pointer.rpartition("/")[2]
    a, b = (
        "".join(piece.text for excerpt in side or () for piece in excerpt).strip('"') or "nothing"
        for side in (place.a, place.b)
    )
    return f"{title} {a} → {b}" if title != change.entry.title else f"{title}, {key}: {a} → {b}"


def shown_change(entry: DiffEntry, apart: str) -> ShownChange:
    """Returns a difference of messages, as the page shows it.

    Args:
        entry: the difference.
        apart: the kind of the messages if their order among other messages does not count; else
            empty.
    """
    sign, word = WORDS[entry.change]
    last = entry.title.rpartition(" ")[2]
    most = _BESIDE_PLACES if entry.fields else SHOWN_VALUE

    def frame(seq: int | None, frames: int, text: str | None) -> ShownFrame | None:
        preview = (text or "").removeprefix(f"{last}: ")
        preview = preview if len(preview) <= most else f"{preview[:most]}…"
        return None if seq is None else ShownFrame(seq, frames, preview)

    of_b = entry.preview if entry.a is None else entry.b_preview
    return ShownChange(
        number=0,
        entry=entry,
        sign=sign,
        word=word,
        apart=apart,
        a=frame(entry.a, entry.a_frames, entry.preview),
        b=frame(entry.b, entry.b_frames, of_b),
        places=_places(entry.fields),
    )


def characters(change: ShownChange) -> int:
    """Returns the approximate number of characters that a difference adds to the page."""
    sides = [side for place in change.places.items for side in (place.a, place.b) if side]
    texts = [piece.text for side in sides for excerpt in side for piece in excerpt]
    previews = sum(len(side.preview) for side in change.sides)
    return previews + sum(map(len, texts)) + 100 * len(texts)


def numbered_places(fields: Sequence[Field], first: int) -> Shortened[ShownPlace]:
    """Returns differing places, numbered in order.

    Args:
        fields: the places.
        first: the number of the first place among the differences of the page.
    """
    pick = _places(fields)
    places = [evolve(place, number=n) for n, place in enumerate(pick.items, first)]
    return Shortened(places, pick.more)


def shown_ending(fields: Sequence[Field], first: int) -> list[ShownPlace]:
    """Returns how the agents ended in A and in B: exit codes and names of signals, or ``none``.

    Args:
        fields: the members of the endings that differ.
        first: the number of the first member among the differences of the page.
    """

    def text(pointer: str, value: Any) -> list[list[ShownText]]:
        is_signal = pointer == "/exit_signal" and value is not None
        shown = signal_name(value) if is_signal else "none" if value is None else str(value)
        return [[ShownText(shown, differs=True)]]

    words = {"/exit_code": "exit code", "/exit_signal": "signal"}
    return [
        ShownPlace(words[at], text(at, fields[n].a), text(at, fields[n].b), number=first + n)
        for n, at in enumerate(place.pointer for place in fields)
    ]


def _places(fields: Sequence[Field]) -> Shortened[ShownPlace]:
    shown = [_place(place) for place in fields[:PARTS]]
    return Shortened(shown, len(fields) - len(shown))


def _place(field: Field) -> ShownPlace:
    """Returns both values of a differing place. Long texts are cut to their changed words."""
    pieces = readable_diff(field.a, field.b, SHOWN_VALUE)
    if not pieces:
        a, b = ([[ShownText(_json(value), differs=True)]] for value in (field.a, field.b))
        only = field.only
        return ShownPlace(field.pointer, None if only == "b" else a, None if only == "a" else b)
    parts = list(excerpts(pieces))
    shown = parts[:SHORT_LIST]
    a, b = (
        [[ShownText(_cut(text), op != "=") for op, text in excerpt if op in side]
         for excerpt in shown]
        for side in ("=-", "=+")
    )  # fmt: skip
    return ShownPlace(field.pointer, a, b, more=len(parts) - len(shown))


def _json(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False))


def _cut(text: str) -> str:
    more = len(text) - SHOWN_VALUE
    return f"{text[:SHOWN_VALUE]}… ({more:,} more characters)" if more > 0 else text
