r"""Searches frames and events: lines, the strings within them, and messages across chunks.

A person sees texts, but the lines on the wire contain escapes such as ``\"`` and ``\u00e9``, and a
sentence comes in a dozen chunks. So a pattern is searched for in the line as it was sent, in each
decoded JSON string, and in the messages that chunks form. Nearly all messages have the same names
of members, methods and types, so only a pattern that may be a name (`Pattern.may_name`) is searched
for in these names. A match belongs to the frame in which the match begins. A frame with several
matches is one hit.

Memory is bounded: only the end of an unfinished message is kept, and only a limited number of hits.
"""

import heapq
import re
from collections.abc import Callable, Iterable
from itertools import chain, count

from acp_proxy.base.limits import REMEMBERED
from acp_proxy.explain.search.search_patterns import (
    Pattern,
    content_of,
    escaped_strings,
    strings,
    values,
)
from acp_proxy.explain.search.stream_matches import SearchHit, Streams, excerpt, look_through
from acp_proxy.protocol.json_text import json_or_none, member, parts_of, pointer
from acp_proxy.recording.recording import StoredFrame

_TEXTS = [f"/params/{of}/content{end}" for of in ("update", "data") for end in ("/text", "")]


class Searcher:
    """Searches the frames and events of one recording, in order.

    The caller feeds all frames and events, and then calls `finish`. Each call returns the hits that
    have become final since the previous call.
    """

    def __init__(self, pattern: Pattern, *, with_pointers: bool = False) -> None:
        self._pattern = pattern
        self._with_pointers = with_pointers
        self._streams = Streams(pattern, _chunk_pointer if with_pointers else None)
        self._joins = pattern.length != 1
        self._waiting: list[tuple[int, int, SearchHit]] = []
        self._order = count()

    def feed(self, frame: StoredFrame) -> list[SearchHit]:
        """Searches a frame whose line is in memory."""
        raw = frame.raw or b""
        hit = self._look(frame, raw) if self._pattern.may_be_in(raw) else None
        if hit is not None:
            self._add(hit)
        if self._joins:
            for across in self._streams.feed(frame, raw, is_hit=hit is not None):
                self._add(across)
        if self._waiting and (hit is not None or self._streams.has_moved):
            return self._complete()
        return []

    def feed_large(
        self, frame: StoredFrame, pieces: Callable[[], Iterable[bytes]]
    ) -> list[SearchHit]:
        """Searches a frame that is too large for memory.

        Args:
            frame: the frame, without its line.
            pieces: a function that yields the whole line in pieces each time it is called.
        """
        if hit := look_through(self._pattern, frame, pieces):
            self._add(hit)
        return self._complete()

    def feed_text(self, place: StoredFrame, text: str) -> list[SearchHit]:
        """Searches the description of an event.

        Args:
            place: the event in the form of a frame, without a line.
            text: the description of the event.
        """
        if hit := _hit(place, text, self._pattern.regex.search(text)):
            self._add(hit)
        return self._complete()

    def finish(self) -> list[SearchHit]:
        """Searches the messages that have not ended. After this call, the caller feeds nothing."""
        for hit in self._streams.finish():
            self._add(hit)
        return self._complete()

    def _look(self, frame: StoredFrame, raw: bytes) -> SearchHit | None:
        """Returns a frame's first match in a string of its line, or else in the line itself."""
        pattern, line = self._pattern, raw.decode(errors="replace")
        in_line = pattern.is_in(line)
        strings_of = strings if in_line or pattern.has_assertions else escaped_strings
        if not in_line and not any(map(pattern.is_in, strings_of(line))):
            return None
        is_searched = frame.method is None or pattern.may_name
        is_text = in_line and frame.kind in ("stderr", "invalid", "blank")
        texts = values(line) if frame.method is not None else strings_of(line)
        names = strings_of(line) if is_searched and not in_line else ()  # others have the line
        text = next(filter(pattern.is_in, () if is_text else chain(texts, names)), line)
        match = pattern.regex.search(content_of(line) if text is line and not is_searched else text)
        pointer = _string_pointer(line, text) if self._with_pointers else None
        return _hit(frame, text, match, pointer)

    def _add(self, hit: SearchHit) -> None:
        heapq.heappush(self._waiting, (hit.place.seq, next(self._order), hit))

    def _complete(self) -> list[SearchHit]:
        """Removes and returns the waiting hits that are final: no later hit belongs before them.

        If more than `REMEMBERED` hits wait, the earliest hits are returned in any case, until only
        `REMEMBERED` hits are left.
        """
        complete, waiting = [], self._waiting
        earliest = self._streams.earliest() if waiting else 0
        while waiting and (waiting[0][0] <= earliest or len(waiting) > REMEMBERED):
            complete.append(heapq.heappop(waiting)[2])
        return complete


def _hit(
    place: StoredFrame, text: str, match: re.Match[str] | None, pointer: str | None = None
) -> SearchHit | None:
    if match is None:
        return None
    return SearchHit(place._replace(raw=None), place.seq, excerpt(text, *match.span()), pointer)


def _string_pointer(line: str, sought: str) -> str | None:
    """Returns the JSON pointer to the first string in a line that equals a text, or None."""
    waiting = [("", json_or_none(line.encode(errors="surrogatepass")))]
    while waiting:
        place, value = waiting.pop()
        if value == sought:
            return place
        if isinstance(value, dict):
            inner = [(place + pointer((name,)), member) for name, member in value.items()]
            waiting += reversed(inner)
        elif isinstance(value, list):
            waiting += reversed([(f"{place}/{n}", member) for n, member in enumerate(value)])
    return None


def _chunk_pointer(raw: bytes) -> str | None:
    """Returns the JSON pointer of the text in the line of a chunk; None if there is no text."""
    message = json_or_none(raw.decode(errors="replace").encode())
    texts = (place for place in _TEXTS if isinstance(member(message, *parts_of(place)), str))
    return next(texts, None)
