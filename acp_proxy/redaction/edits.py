"""Replaces secrets in the bytes of a line and in the characters of a text."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from acp_proxy.base.limits import SMALL_LINE
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.redaction.json_strings import Decoded

_SOUND = re.compile(rb'(?:[^\x00-\x1f\\"]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
"""Matches as much of a JSON string as is valid; does not check whether the bytes are UTF-8."""


class Edit(NamedTuple):
    """A range of bytes in a line, and its replacement."""

    start: int
    end: int
    new: bytes


Edits = tuple[Edit, ...]
Pieces = Callable[[], Iterable[bytes]]


def apply(raw: bytes, edits: Edits) -> bytes:
    """Returns a line with edits applied.

    Args:
        raw: the line.
        edits: edits without overlaps, sorted by their starts.
    """
    return b"".join(apply_to_pieces((raw,), edits)) if edits else raw


def apply_to_pieces(pieces: Iterable[bytes], edits: Edits, start: int = 0) -> Iterator[bytes]:
    """Yields the bytes of a line with edits applied.

    Args:
        pieces: the bytes of the line, or of a part of it.
        edits: edits without overlaps, sorted by their starts. Edits of other bytes are skipped.
        start: the offset in the line of the first of these bytes.
    """
    at = start
    for piece in pieces:
        begin, end = at, at + len(piece)
        for edit in edits:
            if edit.end <= begin or edit.start >= end:
                continue
            if edit.start >= at:
                yield piece[at - begin : edit.start - begin]
            if edit.start >= begin:
                yield edit.new
            at = max(at, min(edit.end, end))
        yield piece[at - begin :]
        at = end


def merge_edits(edits: Iterable[Edit]) -> Edits:
    """Returns the edits sorted. Overlapping edits are joined into one edit; see `join_spans`."""
    return tuple(join_spans(edits))


def without_mending(pieces: Pieces, edits: list[Edit]) -> list[Edit]:
    """Merges the edits of an invalid line; changes the last edit if the line would become valid.

    Masking must not turn an invalid line into a message. Lines that are longer than `SMALL_LINE`
    after masking are not checked.

    Args:
        pieces: returns the bytes of the line.
        edits: the edits of the line, in any order.
    """
    merged = list(merge_edits(edits))
    masked = b""
    for piece in apply_to_pieces(pieces(), tuple(merged)):
        masked += piece
        if len(masked) > SMALL_LINE:
            return merged
    if merged and json_or_none(masked) is not None:
        merged[-1] = merged[-1]._replace(new=merged[-1].new + rb"\x")
    return merged


def move(edit: Edit, by: int) -> Edit:
    """Returns an edit moved towards the end of the line.

    Args:
        edit: the edit.
        by: the number of bytes.
    """
    return edit._replace(start=edit.start + by, end=edit.end + by)


class MaskedSpan(NamedTuple):
    """A range of characters to be masked, and its replacement."""

    start: int
    end: int
    new: str


_Range = TypeVar("_Range", Edit, MaskedSpan)


def join_spans(spans: Iterable[_Range]) -> list[_Range]:
    """Returns the spans sorted, with overlapping spans joined.

    A joined span has the replacement of its first span. Of several spans with the same start, the
    longest counts as the first.
    """
    result: list[_Range] = []
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if result and span.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(span.end, result[-1].end))
        else:
            result.append(span)
    return result


def replaced(text: str, spans: list[MaskedSpan]) -> str:
    """Returns a text with spans replaced.

    Args:
        text: the text.
        spans: spans without overlaps, sorted by their starts.
    """
    parts, at = [], 0
    for start, end, new in spans:
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def edits_in(decoded: Decoded, start: int, spans: list[MaskedSpan]) -> Iterator[Edit]:
    """Yields the edits that replace spans of a JSON string in a line.

    If the replaced part is invalid JSON, its replacement is made invalid too: a broken line must
    not become a valid message.

    Args:
        decoded: the string.
        start: the offset of the string's bytes in the line.
        spans: the spans of the string's text, sorted by their starts.
    """
    for span in spans:
        begin, end = decoded.place(span.start), decoded.place(span.end)
        flaw, new = _flaw(decoded.raw[begin:end]), span.new
        if flaw and len(new) == span.end - span.start:
            new = new[:-1]  # a blanked text keeps its length
        escaped = json.dumps(new, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape")
        yield Edit(start + begin, start + end, escaped + flaw)


def _flaw(raw: bytes) -> bytes:
    """Returns bytes that break a JSON string as ``raw`` does; empty if ``raw`` is valid.

    Args:
        raw: the bytes between the quotes.
    """
    sound = _SOUND.match(raw)
    if sound is not None and sound.end() < len(raw):
        first = raw[sound.end() :][:1]
        return rb"\x" if first == b"\\" else first
    try:
        raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return b"\xff"
    return b""
