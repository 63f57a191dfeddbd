"""Finds secrets in texts that arrive in pieces; a piece is searched with the text around it.

For each text, this module keeps the last characters, and the spans to mask in later pieces. If the
end of a piece may be the beginning of a secret, the next pieces are read too.
"""

from collections.abc import Callable, Iterator
from itertools import islice

from acp_proxy.redaction.edits import MaskedSpan, join_spans
from acp_proxy.redaction.markers import HASH_SIZE, MARKER
from acp_proxy.redaction.secret_finder import SecretFinder
from acp_proxy.redaction.secret_patterns import ends_open
from acp_proxy.redaction.text_pieces import Piece, PieceReader
from acp_proxy.redaction.text_search import Search

CONTEXT = 32
"""The number of characters before a piece that are searched together with the piece."""
_LONGEST_CONTEXT = 512
"""If some secrets are known only by hashes: the most characters before a piece that are searched
together with the piece. A hash recognizes only a whole secret."""
_SEAM = 24
"""The number of characters on either side of a piece's start that are searched together."""
_MOST_TEXT = 16 << 10
"""The most characters of later pieces that are searched together with a piece."""
_MOST_LINES = 400
"""The limit of lines that are read ahead is never lower than this. The limit begins at
`_MOST_PIECES`, and each long search that finds no end of a secret halves the limit."""
_MOST_PIECES = 4000
"""How many lines are read ahead at most, at first. A private key of 3,200 characters may arrive in
pieces of one letter."""
_SEARCHED_AT_ONCE = 256
"""If a growing text is longer than this, it is searched again only after it has doubled."""
_MOST_STREAMS = 256


class NotYet(Exception):
    """Raised when masking a line depends on later lines that have not arrived."""


Following = Callable[[], Iterator[bytes]]
"""Returns the next lines of a stream. After the last line, raises `NotYet` if more may arrive."""


StreamEnd = tuple[str, list[tuple[int, int, str]]]
"""The last characters of a text that arrives in pieces, and the spans to mask in its later pieces.
A span has a start, an end and a marker; start and end are offsets from the end of the text so
far."""
_NOTHING: StreamEnd = ("", [])


class TextStreams:
    """The texts of one recording that arrive in pieces.

    Args:
        finder: finds secrets in the texts.
        kept: the ends of the texts, by key.
        is_thorough: whether to search even text without needles, for the user's patterns.

    Attributes:
        kept: the ends of the texts so far, by key.
        left: the number of secrets that were recognized too late and so were not masked. To mask
            these secrets, mask all pieces again.
    """

    def __init__(
        self, finder: SecretFinder, kept: dict[str, StreamEnd], *, is_thorough: bool
    ) -> None:
        self.kept = kept
        self.left = 0
        self._finder = finder
        self._is_thorough = is_thorough
        self._ahead = PieceReader()
        self._most_lines = _MOST_PIECES
        self._decided: tuple[StreamEnd, int, int] = _NOTHING, 0, 0
        """The latest search in later pieces: the end of the text, for how many characters after
        this end the search decided what to mask, and how many secrets were known then. A new secret
        makes the result invalid."""
        self._size = max(CONTEXT, min(finder.hashed.longest, _LONGEST_CONTEXT))

    def passes(self, key: str, text: str) -> bool:
        """Adds a piece without needles to its text if the piece certainly has nothing to mask.

        Args:
            key: the key of the text.
            text: the piece.

        Returns:
            Whether the piece was added; if not, pass the piece to `spans`.
        """
        left, spans = self.kept.get(key, _NOTHING)
        if spans:
            return False
        if _may_join(left, text):
            seam = left[-_SEAM:] + text[:_SEAM]
            if self._finder.may_hold(seam.encode("utf-8", "replace")):
                return False
        size = self._size
        end = text[-size:] if len(text) >= size else (left + text)[-size:]
        if "]" in end:
            end = _context(left + text, size)
        is_short = len(text) < _SEAM and _is_seam(left, text)
        seams = (len(end) - len(text),) if is_short else ()
        if ends_open(end, seams) or self._finder.values.ends_open(end):
            return False
        self._keep(key, (end, []))
        return True

    def spans(self, piece: Piece, following: Following) -> list[MaskedSpan]:
        """Returns the spans to mask in a piece.

        Args:
            piece: the piece.
            following: returns the lines after the piece; only called if they are needed.

        Raises:
            NotYet: raised by ``following`` if needed lines have not arrived; pass the piece again.
        """
        stream = self.kept.get(piece.key, _NOTHING)
        left, spans = stream
        joined = left + piece.text
        begin, end = len(left), len(joined)
        ahead = self._decided_after(stream) - len(piece.text)
        if spans and spans[0][0] <= 0 and spans[0][1] > len(piece.text) and not spans[0][2]:
            size = len(piece.text)  # the whole piece is inside a secret
            later = [(max(a - size, 0), b - size, new) for a, b, new in spans]
            self._keep(piece.key, (_context(joined, self._size), later))
            return [MaskedSpan(0, size, "")]
        seams = [begin] if _is_seam(left, piece.text) else []
        known = [MaskedSpan(begin + a, begin + b, new) for a, b, new in spans]
        if ahead >= 0:
            own, later = self._divided(known, self._alone(piece, begin, seams), begin, end)
            self._keep(piece.key, (_context(joined, self._size), later), ahead)
            return own
        searched = self._finder.search(joined, loose=False, seams=seams)
        is_needed = searched.places or self._is_thorough or spans
        if not (is_needed or ends_open(joined, seams) or self._finder.values.ends_open(joined)):
            self._keep(piece.key, (_context(joined, self._size), []))
            return []
        tail = self._finder.tail(searched)
        if tail < end:
            searched, tail = self._read_on(piece.key, searched, end, seams, following)
        joined = searched.text
        masked = self._finder.spans_of(searched)
        if searched.places:
            masked += self._alone(piece, begin, seams)
        if not (masked or spans) and tail >= end:
            self._keep(piece.key, (_context(joined[:end], self._size), []), tail - end)
            return []
        if tail < end == len(joined):
            masked += self._cut_off(joined, tail)
        own, later = self._divided(known, masked, begin, end)
        # After a secret that does not end, the next pieces must not be read again each time.
        ahead = tail - end if tail >= end else (len(joined) - end) // 4
        self._keep(piece.key, (_context(joined[:end], self._size), later), ahead)
        return own

    def _decided_after(self, stream: StreamEnd) -> int:
        """Returns how many characters after the end of a text were judged by an earlier search."""
        latest, size, known = self._decided
        return size if latest is stream and known == len(self._finder.values.markers) else 0

    def _alone(self, piece: Piece, begin: int, seams: list[int]) -> list[MaskedSpan]:
        """Searches a piece alone, since the text before it may hide a secret in the piece."""
        if not seams:
            return []
        alone = self._finder.spans(piece.text, loose=False)
        return [MaskedSpan(begin + a, begin + b, new) for a, b, new in alone]

    def _read_on(
        self, key: str, searched: Search, end: int, seams: list[int], following: Following
    ) -> tuple[Search, int]:
        """Searches a text together with its next pieces, until no secret in the text is cut off.

        Returns:
            The search, and the index of the first secret that the end of the searched text still
            cuts off.
        """
        joined, due, count, pieces = searched.text, 0, 0, self._following(key, following)
        more: str | None = ""
        missing: NotYet | None = None
        while more is not None:
            try:
                more = next(pieces, None)
            except NotYet as e:
                more, missing = None, e
            count += 1
            if more is not None:
                if _is_seam(joined, more):
                    seams.append(len(joined))
                joined += more
                if len(joined) < due:
                    continue
            # Grow geometrically, so that one search decides many pieces.
            due = len(joined) * (8 if len(joined) > _SEARCHED_AT_ONCE else 5) // 4
            searched = self._finder.search(joined, loose=False, seams=seams)
            tail = self._finder.tail(searched)
            if tail >= end or len(joined) > end + _MOST_TEXT:
                break
        else:
            if missing is not None:
                raise missing
            if count > _MOST_LINES:  # a limit for secrets that do not end
                self._most_lines = max(_MOST_LINES, self._most_lines // 2)
        return searched, tail

    def _divided(
        self, known: list[MaskedSpan], masked_spans: list[MaskedSpan], begin: int, end: int
    ) -> tuple[list[MaskedSpan], list[tuple[int, int, str]]]:
        """Splits spans into the parts in the current piece and the parts in later pieces.

        Offsets in the first list count from the start of the piece. Offsets in the second list
        count from the end of the piece.
        """
        own, later = [], []
        for span in join_spans([*known, *masked_spans]):
            if span.end > begin and span.start < end:
                # If an earlier piece was masked up to its end, it already contains the marker of
                # the span. If the span only begins in the kept characters, the marker is put here.
                is_marked = span.start < begin and any(a < span.end for a, _, _ in known)
                if span.start < begin and not is_marked and span.new in self._finder.hashed.markers:
                    self.left += 1
                    continue
                new = "" if is_marked else span.new
                own.append(
                    MaskedSpan(max(span.start, begin) - begin, min(span.end, end) - begin, new)
                )
            if span.end > end:
                new = span.new if span.start >= end else ""
                later.append((max(span.start - end, 0), span.end - end, new))
        return own, later

    def _keep(self, key: str, stream: StreamEnd, ahead: int = 0) -> None:
        streams = self.kept
        streams[key] = stream
        if ahead > 0:
            self._decided = stream, ahead, len(self._finder.values.markers)
        if len(streams) > _MOST_STREAMS:
            del streams[next(iter(streams))]

    def _cut_off(self, text: str, tail: int) -> list[MaskedSpan]:
        """If a text ends inside a known secret, returns a span for the beginning of the secret."""
        beginning = text[tail:]
        if self._finder.values.tail(text) == tail and len(beginning) >= 8:
            return [MaskedSpan(tail, len(text), self._finder.markers.of("secret", beginning))]
        return []

    def _following(self, key: str, following: Following) -> Iterator[str]:
        """Yields the next pieces of a text, up to a line that is neither a piece nor an update."""
        for raw in islice(following(), self._most_lines):
            piece = self._ahead.read(raw)
            if piece is not None and piece.key == key:
                yield piece.text
            elif b"session/update" not in raw and piece is None:
                return


def _may_join(left: str, text: str) -> bool:
    """Whether a needle may begin in one text and end in the next."""
    if not left or text[:1].isspace():
        return False
    return text[:1] == "-" or not left[-1].isspace()  # as in `curl -u`


def _is_seam(left: str, text: str) -> bool:
    """Whether one text follows another without white space between them."""
    return text != "" and not text[0].isspace() and left != "" and not left[-1].isspace()


_MARKER_END = 2 * HASH_SIZE + 2
"""The number of characters from the second colon of a marker to the marker's end."""


def _context(text: str, size: int) -> str:
    """Returns the last characters of a text; leaves out a marker that would be cut."""
    start = max(0, len(text) - size)
    end = text.find("]", start) + 1
    if end and text[end - _MARKER_END : end - _MARKER_END + 1] == ":":
        for marker in MARKER.finditer(text, max(0, start - CONTEXT), end):
            if marker.start() < start < marker.end():
                return text[marker.end() :]
    return text[start:]
