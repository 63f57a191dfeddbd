"""Finds a pattern in texts that come in pieces: chunked messages, and very large lines.

Each piece belongs to a frame. Only the end of a text is kept, because a match may continue in the
next piece.
"""

import codecs
import re
import sys
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from attrs import frozen

from acp_proxy.base.limits import SHOWN_LINE
from acp_proxy.explain.search.search_patterns import Pattern, undone
from acp_proxy.protocol.chunks import chunk_of
from acp_proxy.protocol.dialects import PROMPT
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording.recording import StoredFrame

_OVERLAP = 4096
"""The longest match of a regular expression that is found across chunks, in characters."""
_CONTEXT = 200
"""The number of characters before and after the match in an excerpt."""
_FULL = 4 * _OVERLAP
_AROUND = 64  # characters around a match that are kept for assertions about the text there
_MOST_RUNS = 32
_LONGEST_ESCAPE = 12
_SURROGATE = re.compile("[\ud800-\udfff]")


class Excerpt(NamedTuple):
    """A match and a part of the text around it."""

    before: str
    match: str
    after: str


@frozen
class SearchHit:
    """A frame or event in which a match begins."""

    place: StoredFrame
    """The frame or event, without its line."""
    last_seq: int
    """The number of the frame in which the match ends. It is a later frame if the match spans
    chunks."""
    excerpt: Excerpt
    pointer: str | None = None
    """The JSON pointer of the text with the match. None if pointers were not requested, or for a
    match outside of strings."""


_Head = tuple[Any, ...]
"""A frame without its line. It is a tuple, to save memory."""
_Piece = tuple[int, _Head, str | None]
"""A piece of a text: its position in the text, its frame, and its JSON pointer."""


def excerpt(text: str, start: int, end: int) -> Excerpt:
    """Returns a match and the text around it. Halves of surrogate pairs are replaced.

    Args:
        text: the text.
        start: the position in the text where the match begins.
        end: the position where the match ends.
    """
    parts = (
        text[max(0, start - _CONTEXT) : start],
        text[start : min(end, start + SHOWN_LINE)],
        text[end : end + _CONTEXT],
    )
    return Excerpt._make(p if p.isascii() else _SURROGATE.sub("\ufffd", p) for p in parts)


class _Text:
    """A text that grows piece by piece. `look` discards the text that no later match can need."""

    def __init__(self, pattern: Pattern) -> None:
        self.size = 0
        self._pattern = pattern
        self._texts: list[str] = []
        self._pieces: list[_Piece] = []
        self._hits: set[int] = set()
        self._from = 0  # where the next match may begin

    @property
    def first_seq(self) -> int:
        """Returns the number of the first frame in which a match may still be found."""
        return int(self._pieces[0][1][0]) if self._pieces else sys.maxsize

    def add(self, head: _Head, text: str, is_hit: bool = False, pointer: str | None = None) -> None:
        """Adds the text of a frame. With ``is_hit``, the frame is not reported as a hit again."""
        if not text.isascii() and "\udc00" <= text[0] <= "\udfff":
            text = self._whole_character(text)
        if text:
            if is_hit:
                self._hits.add(head[0])
            self._pieces.append((self.size, head, pointer))
            self._texts.append(text)
            self.size += len(text)

    def _whole_character(self, text: str) -> str:
        """Joins a surrogate pair that is split between the previous piece and a text.

        Returns the text without its half of the pair.
        """
        last = self._texts[-1] if self._texts else " "
        if not "\ud800" <= last[-1:] <= "\udbff":
            return text
        character = (last[-1] + text[0]).encode("utf-16", "surrogatepass").decode("utf-16")
        self._texts[-1] = last[:-1] + character
        return text[1:]

    def look(self, *, is_whole: bool) -> list[SearchHit]:
        """Returns the matches that later text cannot change, at most one for each frame.

        Text that no later match can need is discarded.

        Args:
            is_whole: whether the text is complete.
        """
        text = "".join(self._texts)
        length = self._pattern.length
        cut = max(self._from, len(text) - (length - 1 if length else _OVERLAP))
        hits = []
        if self._pattern.is_in(text):
            hits = list(self._matches(text, len(text) if is_whole else cut, is_whole=is_whole))
        self._keep(text, len(text) if is_whole else cut)
        return hits

    def _matches(self, text: str, cut: int, *, is_whole: bool) -> Iterator[SearchHit]:
        starts = [start for start, _, _ in self._pieces]
        place = self._from
        while match := self._pattern.regex.search(text, place):
            start, end = match.span()
            if not is_whole and start >= cut:
                return  # more text may change the match
            number = max(0, bisect_right(starts, start) - 1)
            _, head, pointer = self._pieces[number]
            if head[0] not in self._hits:
                self._hits.add(head[0])
                _, last, _ = self._pieces[max(number, bisect_right(starts, end - 1) - 1)]
                hit = StoredFrame._make((*head, None))
                yield SearchHit(hit, last[0], excerpt(text, start, end), pointer)
            if number + 1 == len(starts):
                return
            place = starts[number + 1]

    def _keep(self, text: str, cut: int) -> None:
        around = 0 if self._pattern.length else _AROUND
        kept = max(0, cut - around)
        first = max(0, bisect_right([start for start, _, _ in self._pieces], cut) - 1)
        left = self._pieces[first:] if cut < len(text) else []
        self._pieces = [(max(0, start - kept), head, pointer) for start, head, pointer in left]
        self._hits &= {head[0] for _, head, _ in left}
        self._texts = [text[kept:]] if self._pieces else []
        self.size = len(text) - kept if self._pieces else 0
        self._from = cut - kept


class Streams:
    """Finds a pattern in streamed messages: the chunks of a message are searched as one text.

    Args:
        pattern: the pattern to find.
        pointer: a function that returns the JSON pointer of the text in a chunk's line; None for no
            pointers.
    """

    def __init__(self, pattern: Pattern, pointer: Callable[[bytes], str | None] | None) -> None:
        self._pattern = pattern
        self._pointer = pointer
        self._full = _FULL + 2 * pattern.length
        self._texts: OrderedDict[tuple[str | None, str, str | None], _Text] = OrderedDict()
        self._earliest: int | None = None
        self.has_moved = False
        """Whether the method that was called last may have changed `earliest`."""

    def earliest(self) -> int:
        """Returns the number of the first frame in which a match may still be found."""
        if self._earliest is None:
            first = (text.first_seq for text in self._texts.values())
            self._earliest = min(first, default=sys.maxsize)
        return self._earliest

    def feed(self, frame: StoredFrame, raw: bytes, *, is_hit: bool) -> list[SearchHit]:
        """Adds the next frame. Returns the matches that later text cannot change.

        Args:
            frame: any frame.
            raw: the line of the frame.
            is_hit: whether the line of the frame matches, so that the frame is a hit already.
        """
        self.has_moved = False
        if frame.method == PROMPT:
            return self._close(frame.session, everything=True)
        if frame.method != UPDATE:
            return []
        chunk = chunk_of(raw)
        if chunk is None:
            begins = frame.tool_call is not None and b'"tool_call"' in raw
            return self._close(frame.session) if begins else []
        key = (frame.session, chunk.update, chunk.message_id)
        text = self._texts.get(key)
        search_hits: list[SearchHit] = []
        if text is None:
            search_hits = self._close(frame.session)
            if len(self._texts) >= _MOST_RUNS:
                search_hits += self._end(next(iter(self._texts)))
            text = self._texts[key] = _Text(self._pattern)
        else:
            self._texts.move_to_end(key)
        pointer = self._pointer(raw) if self._pointer else None
        text.add(frame[:-1], chunk.text, is_hit, pointer)
        if self._earliest is not None and frame.seq < self._earliest:
            self._earliest = frame.seq
        if text.size > self._full:
            search_hits += text.look(is_whole=False)
            self._move()
        return search_hits

    def finish(self) -> list[SearchHit]:
        """Returns the matches in messages that have not ended."""
        return [hit for key in list(self._texts) for hit in self._end(key)]

    def _close(self, session: str | None, *, everything: bool = False) -> list[SearchHit]:
        """Ends all messages of a session, or only those without an id. Returns their matches."""
        ended = [k for k in self._texts if k[0] == session and (everything or k[2] is None)]
        return [hit for key in ended for hit in self._end(key)]

    def _end(self, key: tuple[str | None, str, str | None]) -> list[SearchHit]:
        self._move()
        return self._texts.pop(key).look(is_whole=True)

    def _move(self) -> None:
        self.has_moved = True
        self._earliest = None


def look_through(
    pattern: Pattern, frame: StoredFrame, pieces: Callable[[], Iterable[bytes]]
) -> SearchHit | None:
    """Returns the first match in a line that is too large for memory, or None.

    The line is searched unchanged, and then with decoded escapes.

    Args:
        pattern: the pattern to find.
        frame: the frame, without its line.
        pieces: a function that yields the whole line in pieces each time it is called.
    """
    for decode in (_decoded, _undone):
        text = _Text(pattern)
        for piece in decode(pieces()):
            text.add(frame[:-1], piece)
            if hits := text.look(is_whole=False):
                return hits[0]
        if hits := text.look(is_whole=True):
            return hits[0]
    return None


def _decoded(pieces: Iterable[bytes]) -> Iterator[str]:
    decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
    for piece in pieces:
        yield decode(piece)
    yield decode(b"", final=True)


def _undone(pieces: Iterable[bytes]) -> Iterator[str]:
    """Yields a text with its escapes decoded, even if an escape is split between two pieces."""
    rest = ""
    for piece in _decoded(pieces):
        text = rest + piece
        place = len(text)
        while place and "\\" in text[max(0, place - _LONGEST_ESCAPE) : place]:
            place = text.rindex("\\", 0, place)
        yield undone(text[:place])
        rest = text[place:]
    yield undone(rest)
