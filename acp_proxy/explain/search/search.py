r"""Searches frames and events: lines, the strings within them, and messages across chunks.

A person sees texts, but the lines on the wire contain escapes such as ``\"`` and ``\u00e9``, and a
sentence comes in a dozen chunks. So a pattern is searched for in the line as it was sent, in each
decoded JSON string, and in the messages that chunks form. A match belongs to the frame in which the
match begins. A frame with several matches is one hit.

This module does not read files. Memory is bounded: only the end of an unfinished message is kept
(`stream_matches`), and only a limited number of hits is kept until earlier hits are known.
"""

import heapq
from collections.abc import Callable, Iterable
from itertools import count

from attrs import evolve

from acp_proxy.base.limits import REMEMBERED
from acp_proxy.explain.search.search_patterns import Pattern, escaped_strings, strings
from acp_proxy.explain.search.stream_matches import SearchHit, Streams, excerpt, look_through
from acp_proxy.protocol.json_text import json_or_none, member, parts_of, pointer
from acp_proxy.recording.recording import StoredFrame

_TEXTS = (
    "/params/update/content/text",
    "/params/update/content",
    "/params/data/content/text",
    "/params/data/content",
)


class Searcher:
    """Searches the frames and events of one recording, in order.

    The caller feeds all frames and events, and then calls `finish`. Each call returns the next hits
    in order.
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
        if hit := self._hit_in(place, text):
            self._add(hit)
        return self._complete()

    def finish(self) -> list[SearchHit]:
        """Searches the messages that have not ended; nothing may be fed afterwards."""
        for hit in self._streams.finish():
            self._add(hit)
        return self._complete()

    def _look(self, frame: StoredFrame, raw: bytes) -> SearchHit | None:
        """Searches first the strings in a line, as a person sees them, and then the whole line."""
        line = raw.decode(errors="replace")
        text = self._text_of(frame, line)
        hit = self._hit_in(frame, text) if text is not None else None
        if hit is None or not self._with_pointers:
            return hit
        return evolve(hit, pointer=_string_pointer(line, self._pattern.is_in))

    def _text_of(self, frame: StoredFrame, line: str) -> str | None:
        """Returns the first string in a line that matches; else the line, or None without a match.

        The method of the message comes after all other strings. A line that is not a message is
        only searched as a whole.
        """
        pattern = self._pattern
        in_line = pattern.is_in(line)
        if in_line and frame.kind in ("stderr", "invalid", "blank"):
            return line
        if in_line and "\\" not in line and not pattern.has_assertions:
            return self._string_around(line, frame.method)
        method = frame.method if frame.method and pattern.is_in(frame.method) else None
        candidates = strings(line) if in_line or pattern.has_assertions else escaped_strings(line)
        whole = method or line if in_line else None
        return next((s for s in candidates if pattern.is_in(s) and s != frame.method), whole)

    def _string_around(self, line: str, method: str | None) -> str:
        """Returns the first matching string in a line without escapes; else the whole line."""
        for match in self._pattern.regex.finditer(line):
            start, end = match.span()
            if line.count('"', 0, start) % 2 and '"' not in match[0]:
                text = line[line.rfind('"', 0, start) + 1 : line.find('"', end)]
                if text != method:
                    return text
        return method if method and self._pattern.is_in(method) else line

    def _hit_in(self, place: StoredFrame, text: str) -> SearchHit | None:
        match = self._pattern.regex.search(text)
        if match is None:
            return None
        return SearchHit(place._replace(raw=None), place.seq, excerpt(text, *match.span()))

    def _add(self, hit: SearchHit) -> None:
        heapq.heappush(self._waiting, (hit.place.seq, next(self._order), hit))

    def _complete(self) -> list[SearchHit]:
        """Removes and returns the hits that are final: no earlier hit can be found any more."""
        complete, waiting = [], self._waiting
        earliest = self._streams.earliest() if waiting else 0
        while waiting and (waiting[0][0] <= earliest or len(waiting) > REMEMBERED):
            complete.append(heapq.heappop(waiting)[2])
        return complete


def _string_pointer(line: str, is_sought: Callable[[str], bool]) -> str | None:
    """Returns the JSON pointer to the first string in a line that matches, or None."""
    waiting = [("", json_or_none(line.encode(errors="surrogatepass")))]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str):
            if is_sought(value):
                return place
        elif isinstance(value, dict):
            inner = [(place + pointer((name,)), member) for name, member in value.items()]
            waiting += reversed(inner)
        elif isinstance(value, list):
            waiting += reversed([(f"{place}/{n}", member) for n, member in enumerate(value)])
    return None


def _chunk_pointer(raw: bytes) -> str | None:
    """Returns the JSON pointer to the text in the line of a chunk, or None."""
    message = json_or_none(raw.decode(errors="replace").encode())
    texts = (place for place in _TEXTS if isinstance(member(message, *parts_of(place)), str))
    return next(texts, None)
