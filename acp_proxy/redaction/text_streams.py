"""Finds secrets in texts that come in pieces, by what stands before and behind each piece.

Of each text its last characters are kept, and what of the pieces to come is masked already. A piece
whose end may be the beginning of a secret is decided with the pieces that follow.
"""

from collections.abc import Callable, Iterator
from itertools import islice

from acp_proxy.redaction.edits import MaskedSpan, join_spans
from acp_proxy.redaction.markers import HASH_SIZE, MARKER
from acp_proxy.redaction.open_ends import ends_open
from acp_proxy.redaction.pieces import Piece, PieceReader
from acp_proxy.redaction.secret_finder import SecretFinder

CONTEXT = 32
"""Characters before a piece of text that are looked at together with it."""
_SEAM = 24
"""Characters before and after the place where a text was cut that are looked at together."""
_MOST_TEXT = 16 << 10
"""Characters of following pieces with which a piece is decided."""
_MOST_LINES = 400
_MOST_STREAMS = 256


class NotYet(Exception):
    """What follows a line decides what is masked in it, and is not known yet."""


Following = Callable[[], Iterator[bytes]]
"""Gives the lines of the same stream that follow; raises `NotYet` where more may come."""


StreamEnd = tuple[str, list[tuple[int, int, str]]]
"""The last characters of a stream of pieces, and what is masked in the pieces to come, counted from
their beginning: a tuple, since there may be a million."""
_NOTHING: StreamEnd = ("", [])


class TextStreams:
    """The texts of one recording that come in pieces.

    Args:
        finder: finds secrets in them.
        kept: what is kept of each text, by its key.
        is_thorough: whether patterns of the user are looked for, which have no needles.

    Attributes:
        kept: as it is now.
    """

    def __init__(
        self, finder: SecretFinder, kept: dict[str, StreamEnd], *, is_thorough: bool
    ) -> None:
        self.kept = kept
        self._finder = finder
        self._is_thorough = is_thorough
        self._ahead = PieceReader()

    def passes(self, key: str, text: str) -> bool:
        """Takes a piece without needles if nothing in it is masked; returns whether it is taken.

        Args:
            key: of the text.
            text: the piece.
        """
        left, spans = self.kept.get(key, _NOTHING)
        if spans:
            return False
        if _may_join(left, text):
            seam = left[-_SEAM:] + text[:_SEAM]
            if self._finder.may_hold(seam.encode("utf-8", "replace")):
                return False
        end = text[-CONTEXT:] if len(text) >= CONTEXT else (left + text)[-CONTEXT:]
        if "]" in end:
            end = _context(left + text)
        if ends_open(end) or self._finder.values.ends_open(end):
            return False
        self._keep(key, (end, []))
        return True

    def spans(self, piece: Piece, following: Following) -> list[MaskedSpan]:
        """Returns what is masked in a piece, by what is before and behind it.

        Args:
            piece: the piece.
            following: gives the lines after it, if they are needed.

        Raises:
            NotYet: of ``following``; the piece is as good as not taken.
        """
        left, spans = self.kept.get(piece.key, _NOTHING)
        joined = left + piece.text
        begin, end = len(left), len(joined)
        searched = self._finder.search(joined, loose=False)
        is_open = ends_open(joined) or self._finder.values.ends_open(joined)
        if not (searched.places or self._is_thorough or spans or is_open):
            self._keep(piece.key, (_context(joined), []))
            return []
        tail = self._finder.tail(searched)
        if tail < end:
            for more in self._following(piece.key, following):
                joined += more
                searched = self._finder.search(joined, loose=False)
                tail = self._finder.tail(searched)
                if tail >= end or len(joined) > end + _MOST_TEXT:
                    break
        found = self._finder.spans_of(searched)
        if not (found or spans) and tail >= end:
            self._keep(piece.key, (_context(joined[:end]), []))
            return []
        if tail < end == len(joined):
            found += self._cut_off(joined, tail)
        known = [MaskedSpan(begin + a, begin + b, new) for a, b, new in spans]
        own, later = [], []
        for span in join_spans([*known, *found]):
            if span.end > begin and span.start < end:
                # Of one that begins with the last two characters before, the marker stands here.
                is_marked = span.start < begin and any(a < span.end for a, _, _ in known)
                new = "" if is_marked else span.new
                own.append(
                    MaskedSpan(max(span.start, begin) - begin, min(span.end, end) - begin, new)
                )
            if span.end > end:
                new = span.new if span.start >= end else ""
                later.append((max(span.start - end, 0), span.end - end, new))
        self._keep(piece.key, (_context(joined[:end]), later))
        return own

    def _keep(self, key: str, stream: StreamEnd) -> None:
        streams = self.kept
        streams[key] = stream
        if len(streams) > _MOST_STREAMS:
            del streams[next(iter(streams))]

    def _cut_off(self, text: str, tail: int) -> list[MaskedSpan]:
        """Masks what may be the greater part of a secret at the end of a stream."""
        beginning = text[tail:]
        if self._finder.values.tail(text) == tail and len(beginning) >= 8:
            return [MaskedSpan(tail, len(text), self._finder.markers.of("secret", beginning))]
        return []

    def _following(self, key: str, following: Following) -> Iterator[str]:
        """Yields the pieces of a text that follow; anything but an update ends it."""
        for raw in islice(following(), _MOST_LINES):
            piece = self._ahead.read(raw)
            if piece is not None and piece.key == key:
                yield piece.text
            elif b"session/update" not in raw and piece is None:
                return


def _may_join(left: str, text: str) -> bool:
    """Whether a word that is looked for may begin in one text and end in the next."""
    if not left or text[:1].isspace():
        return False
    return text[:1] == "-" or not left[-1].isspace()  # `curl -u` has a blank before its dash


_MARKER_END = 2 * HASH_SIZE + 2
"""Characters from the second colon of a marker to its end."""


def _context(text: str) -> str:
    """Returns the last characters of a text, but no part of a marker."""
    start = max(0, len(text) - CONTEXT)
    end = text.find("]", start) + 1
    if end and text[end - _MARKER_END : end - _MARKER_END + 1] == ":":
        for marker in MARKER.finditer(text, max(0, start - CONTEXT), end):
            if marker.start() < start < marker.end():
                return text[marker.end() :]
    return text[start:]
