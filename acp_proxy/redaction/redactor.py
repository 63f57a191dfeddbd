"""Finds the secrets in the lines of a connection, and says what stands in their place.

A redactor is fed with all lines of a recording in their order, since a value that is a secret by
its place in one message is masked wherever it comes again. It returns *edits*: ranges of a line and
their new bytes; what is not edited keeps every byte. Ids, methods and member names are not edited.

A secret may be cut into pieces, each in a message of its own. So a piece whose end may be the
beginning of a secret is decided with the pieces that follow. Where these are not known yet, the
caller gets `NotYet`, and asks again later.

Nothing here is written or kept by anything but the caller, for whom `RedactorState` has all that
the next redactor of the same recording has to know. It holds secrets.
"""

import base64
import binascii
import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple
from urllib.parse import unquote

from attrs import define, field

from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.peers import Stream
from acp_proxy.protocol.updates import CHUNKS
from acp_proxy.redaction import patterns
from acp_proxy.redaction.json_strings import Decoded, JsonString, StringWalk
from acp_proxy.redaction.markers import HASH_SIZE, MARKER, Markers
from acp_proxy.redaction.names import is_secret_name
from acp_proxy.redaction.needles import Needles, all_words, of_all_words
from acp_proxy.redaction.pieces import PUSHES, Piece, PieceReader
from acp_proxy.redaction.places import METHODS, Treatment, kind_of, of_variable, rule_for
from acp_proxy.redaction.values import MOST, SecretValues

CONTEXT = 32
"""Characters before a piece of text that are looked at together with it."""
_SEAM = 24
"""Characters before and after the place where a text was cut that are looked at together."""
_MOST_TEXT = 16 << 10
"""Characters of following pieces with which a piece is decided."""
_MOST_LINES = 400
_MOST_STREAMS = 256
_HEAD = 64 << 10
_LONGEST_WORD = 64
"""More bytes than the longest word that is looked for in a line has."""

_KEY_EDGE = re.compile(rb"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,40}-----")
_KEY_LINE = re.compile(rb"[\s|>]*(?:[A-Za-z0-9+/=]{1,100}|[A-Z][A-Za-z-]+: .{1,100})?\s*")
_METHOD = re.compile(rb'"method"\s*:\s*"([^"\\]*)"')
_SCHEME = re.compile(r"(?i:bearer|basic|token|digest|negotiate)\s+")
_REFERENCE = re.compile(r"\$\{[\w:. -]+\}|\$[A-Za-z_]\w*|%[A-Za-z_]\w*%|<[\w -]+>|\{\{[^{}]*\}\}")
_COOKIE = re.compile(r"[^=;\s]+=([^;\s]+)")
_SHOWN = re.compile(r"\S")


class NotYet(Exception):
    """What follows a line decides what is masked in it, and is not known yet."""


class Edit(NamedTuple):
    """A range of a line, and what stands in its place."""

    start: int
    end: int
    new: bytes


Edits = tuple[Edit, ...]
Pieces = Callable[[], Iterable[bytes]]
Following = Callable[[], Iterator[bytes]]
"""Gives the lines of the same stream that follow; raises `NotYet` where more may come."""


def apply(raw: bytes, edits: Edits) -> bytes:
    """Returns a line with its edits.

    Args:
        raw: the line.
        edits: in order.
    """
    return b"".join(apply_to_pieces((raw,), edits)) if edits else raw


def apply_to_pieces(pieces: Iterable[bytes], edits: Edits, start: int = 0) -> Iterator[bytes]:
    """Yields a line with its edits, without holding it.

    Args:
        pieces: the line, or its end.
        edits: in order; those before ``start`` are skipped.
        start: the place in the line at which the pieces begin.
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


class _Span(NamedTuple):
    """Characters that are masked, and what stands in their place."""

    start: int
    end: int
    new: str


_Stream = tuple[str, list[tuple[int, int, str]]]
"""The last characters of a stream of pieces, and what is masked in the pieces to come, counted from
their beginning: a tuple, since there may be a million."""
_NOTHING: _Stream = ("", [])


@define
class RedactorState:
    """What a redactor remembers. It holds secrets, so only the log may have it."""

    key: str
    """Of the markers, in hexadecimal digits."""
    values: dict[str, str] = field(factory=dict)
    """The secrets, each with its marker."""
    streams: dict[str, _Stream] = field(factory=dict)
    variables: list[str] = field(factory=list)
    """Names of variables that the agent announced as secrets."""
    in_private_key: bool = False
    """Whether the latest line of stderr is inside of a private key."""


class Redactor:
    """Masks the lines of one recording.

    Args:
        state: what the redactor of the same recording remembered before.
        private: whether prompts, messages and contents of files are masked as well.
        paths: JSON pointers of values that are masked besides; ``*`` stands for any member.
        extra: patterns that are masked besides; of one with a group, the first group.
        markers: makes the markers; None for those of the state's key.
    """

    def __init__(
        self,
        state: RedactorState,
        *,
        private: bool = False,
        paths: tuple[tuple[str, ...], ...] = (),
        extra: tuple[re.Pattern[str], ...] = (),
        markers: Markers | None = None,
    ) -> None:
        self._state = state
        self._markers = markers or Markers(bytes.fromhex(state.key))
        self._private = private
        self._paths = paths
        self._extra = extra
        self._is_thorough = bool(private or paths or extra)
        self._values = SecretValues()
        for value, marker in state.values.items():
            self._values.add(value, marker, named=True, is_known=True)
        self._pieces = PieceReader()
        self._pieces_ahead = PieceReader()
        self._needles: Needles | None = None  # of the values that are known
        self._harmless = b""
        """What stands around a piece and holds nothing."""
        self.count = 0
        """How many values were masked."""

    def line(
        self,
        stream: Stream,
        raw: bytes,
        following: Following = lambda: iter(()),
        message: Message | None = None,
    ) -> Edits:
        """Returns the edits of a line.

        Args:
            stream: where it was read.
            raw: its bytes, without the newline.
            following: gives the lines after it, if they are needed.
            message: the line as it was read, if it was.

        Raises:
            NotYet: of ``following``; the line is as good as not fed.
        """
        if stream is Stream.STDERR:
            return self._stderr_line(raw)
        if message is not None and self._is_harmless(raw, message):
            return ()
        if not self._paths and (piece := self._pieces.read(raw)) is not None:
            return self._piece(piece, following)
        if not (self._is_thorough or self._may_hold(raw)):
            return ()
        return self.large(stream, lambda: (raw,))

    def alone(self, raw: bytes) -> Edits:
        """Returns the edits of a line that is looked at by itself, out of its order.

        Args:
            raw: its bytes, without the newline.
        """
        if not (self._is_thorough or self._may_hold(raw)):
            return ()
        return self.large(Stream.TO_AGENT, lambda: (raw,))

    def large(self, stream: Stream, pieces: Pieces) -> Edits:
        """Returns the edits of a line that is not held.

        Args:
            stream: where it was read.
            pieces: gives its bytes, without the newline, anew whenever it is called.
        """
        if not (self._is_thorough or self._may_any_hold(pieces())):
            return ()
        head = _head(pieces())
        if head.lstrip()[:1] not in (b"{", b"["):
            return self._counted(self._edits_of_text(pieces()))
        known = len(self._values.markers)
        edits = self._edits_of_json(stream, head, pieces)
        if len(self._values.markers) > known:  # one may stand before the place that shows it
            edits = self._edits_of_json(stream, head, pieces)
        return self._counted(edits)

    def _edits_of_json(self, stream: Stream, head: bytes, pieces: Pieces) -> list[Edit]:
        scan = _LineScan(self, head)
        for string in scan.walk.strings(pieces()):
            scan.take(string)
        edits = scan.finish()
        if stream is Stream.STDERR or not scan.walk.is_json:
            edits += self._edits_of_text(pieces())
        return edits

    def changed(self, stream: Stream, raw: bytes) -> Edits:
        """Returns the edits of a line that a fault has changed or made up.

        Values may have been cut, and pieces of texts come alone; so pieces of values are masked.

        Args:
            stream: where it was written.
            raw: its bytes, without the newline.
        """
        pieces = self._values.fragments(raw)
        found = [Edit(start, end, marker.encode()) for start, end, marker in pieces]
        return _merged([*self.large(stream, lambda: (raw,)), *found])

    def text(self, text: str, *, loose: bool = True) -> str:
        """Returns a text without its secrets.

        Args:
            text: whatever it is.
            loose: whether it is a command, an error or the like, where names count.
        """
        spans = self._spans(text, loose=loose)
        self.count += len(spans)
        return _with(text, spans)

    def command(self, words: list[str]) -> list[str]:
        """Returns a command line without its secrets.

        Args:
            words: the program and its arguments.
        """
        known, count = len(self._values.markers), self.count
        found = self._command(words)
        if len(self._values.markers) > known:  # one may stand before the word that shows it
            self.count = count
            found = self._command(words)
        return found

    def _command(self, words: list[str]) -> list[str]:
        found = []
        names = [""] + [word.lstrip("-") if word.startswith("-") else "" for word in words]
        for name, word in zip(names, words, strict=False):
            is_value = bool(name) and "=" not in name and not word.startswith("-")
            if is_value and is_secret_name(name):
                found.append(_with(word, self._secret(word, kind_of((name,)))))
                self.count += found[-1] != word
            else:
                found.append(self.text(word))
        return found

    def mark(self) -> object:
        """Returns what `restore` needs to forget the lines that are fed from now on."""
        return dict(self._state.streams), self._state.in_private_key

    def restore(self, mark: Any) -> None:
        """Forgets the lines since a `mark`; the secrets that they showed stay known."""
        self._state.streams, self._state.in_private_key = mark

    def snapshot(self) -> RedactorState:
        """Returns what the next redactor of this recording has to know."""
        self._state.values = dict(self._values.markers)
        return self._state

    def _may_hold(self, raw: bytes) -> bool:
        """Whether a line or a text may hold anything to mask; quick, and True when in doubt."""
        if self._needles is None:
            words = self._values.words()
            self._needles = Needles([*all_words(), *words]) if words else of_all_words()
            self._harmless = b""
        return self._needles.are_in(raw)

    def _may_any_hold(self, pieces: Iterable[bytes]) -> bool:
        """Whether a line that is not held may hold anything to mask, see `_may_hold`."""
        end = b""
        for piece in pieces:
            seam = end + piece[:_LONGEST_WORD]
            if self._may_hold(piece) or self._may_hold(seam):
                return True
            end = (end + piece[-_LONGEST_WORD:])[-_LONGEST_WORD:]
        return False

    def _counted(self, edits: Iterable[Edit]) -> Edits:
        merged = _merged(edits)
        self.count += len(merged)
        return merged

    # Pieces of text

    def _is_harmless(self, raw: bytes, message: Message) -> bool:
        """Whether nothing is to be masked in a line, as nearly always; the quick way."""
        if self._is_thorough or message.update in PUSHES or message.method in PUSHES:
            return False
        if self._may_hold(raw):
            return False
        text = message.text
        if message.update not in CHUNKS or text is None:
            return True
        key = f"{message.update} {message.session}"
        left, spans = self._state.streams.get(key, _NOTHING)
        if spans:
            return False
        if (
            left
            and not text[:1].isspace()
            and self._may_hold((left[-_SEAM:] + text[:_SEAM]).encode("utf-8", "replace"))
        ):
            return False
        joined = left + text
        joined = joined[-CONTEXT:] if "]" not in joined else _context(joined)
        if patterns.ends_open(joined) or self._values.ends_open(joined):
            return False
        self._keep(key, (joined, []))
        return True

    def _piece(self, piece: Piece, following: Following) -> Edits:
        """Returns the edits of a line that is a piece of a longer text."""
        around: Edits = ()
        if piece.around is not self._harmless or self._needles is None:
            if self._may_hold(piece.around):
                around = tuple(
                    edit if edit.end <= piece.start else _moved(edit, len(piece.literal))
                    for edit in self.large(Stream.TO_CLIENT, lambda: (piece.around,))
                )
            else:
                self._harmless = piece.around
        if self._private:
            spans = [_Span(0, len(piece.text), _blank(piece.text))] if piece.text else []
        else:
            spans = self._spans_of_piece(piece, following)
        if not spans:
            return around
        self.count += sum(bool(span.new) for span in spans)
        if piece.is_encoded:
            new = _with(piece.text, spans).encode("utf-8", "surrogateescape")
            return _merged([*around, Edit(piece.start, piece.end, base64.b64encode(new))])
        return _merged([*around, *_edits(Decoded(piece.literal), piece.start, spans)])

    def _spans_of_piece(self, piece: Piece, following: Following) -> list[_Span]:
        """Returns what is masked in a piece, by what is before and behind it."""
        left, spans = self._state.streams.get(piece.key, _NOTHING)
        joined = left + piece.text
        begin, end = len(left), len(joined)
        may_hold = self._is_thorough or self._may_hold(joined.encode("utf-8", "replace"))
        ends_open = patterns.ends_open(joined) or self._values.ends_open(joined)
        if not (may_hold or spans or ends_open):
            self._keep(piece.key, (_context(joined), []))
            return []
        tail = self._tail(joined)
        if tail < end:
            for more in self._following(piece.key, following):
                joined += more
                tail = self._tail(joined)
                if tail >= end or len(joined) > end + _MOST_TEXT:
                    break
        found = self._spans(joined, loose=False)
        if tail < end == len(joined):
            found += self._cut_off(joined, tail)
        known = [_Span(begin + a, begin + b, new) for a, b, new in spans]
        own, later = [], []
        for span in _joined([*known, *found]):
            if span.end > begin and span.start < end:
                # Of one that begins with the last two characters before, the marker stands here.
                is_marked = span.start < begin and any(a < span.end for a, _, _ in known)
                new = "" if is_marked else span.new
                own.append(_Span(max(span.start, begin) - begin, min(span.end, end) - begin, new))
            if span.end > end:
                new = span.new if span.start >= end else ""
                later.append((max(span.start - end, 0), span.end - end, new))
        self._keep(piece.key, (_context(joined[:end]), later))
        return own

    def _keep(self, key: str, stream: _Stream) -> None:
        streams = self._state.streams
        streams[key] = stream
        if len(streams) > _MOST_STREAMS:
            del streams[next(iter(streams))]

    def _cut_off(self, text: str, tail: int) -> list[_Span]:
        """Masks what may be the greater part of a secret at the end of a stream."""
        beginning = text[tail:]
        if self._values.tail(text) == tail and len(beginning) >= 8:
            return [_Span(tail, len(text), self._markers.of("secret", beginning))]
        return []

    def _tail(self, text: str) -> int:
        return min(patterns.tail(text), self._values.tail(text))

    def _following(self, key: str, following: Following) -> Iterator[str]:
        """Yields the pieces of a text that follow; anything but an update ends it."""
        for raw in islice(following(), _MOST_LINES):
            piece = self._pieces_ahead.read(raw)
            if piece is not None and piece.key == key:
                yield piece.text
            elif b"session/update" not in raw and piece is None:
                return

    # Text that is no JSON

    def _stderr_line(self, raw: bytes) -> Edits:
        """Returns the edits of a line of stderr, where a private key may have several lines."""
        was_inside = self._state.in_private_key and bool(_KEY_LINE.fullmatch(raw))
        edges = _KEY_EDGE.findall(raw)
        self._state.in_private_key = edges[-1] == b"BEGIN" if edges else was_inside
        if was_inside and raw.strip():
            line = raw.decode("utf-8", "surrogateescape")
            return self._counted([Edit(0, len(raw), self._markers.of("pem", line).encode())])
        if not (self._is_thorough or self._may_hold(raw)):
            return ()
        return self.large(Stream.STDERR, lambda: (raw,))

    def _edits_of_text(self, pieces: Iterable[bytes]) -> list[Edit]:
        """Returns the edits of a line that is no JSON, or that is a log in JSON."""
        found: list[Edit] = []
        held, at, source, is_over = b"", 0, iter(pieces), False
        while not is_over:
            while not is_over and len(held) < _WINDOW + _OVERLAP:
                piece = next(source, None)
                is_over = piece is None
                held += piece or b""
            text = held.decode("utf-8", "surrogateescape")
            spans = self._spans(text, loose=True)
            found += (
                Edit(
                    at + len(text[: span.start].encode("utf-8", "surrogateescape")),
                    at + len(text[: span.end].encode("utf-8", "surrogateescape")),
                    span.new.encode("utf-8", "surrogateescape"),
                )
                for span in spans
            )
            if not is_over:
                cut = len(held) - _OVERLAP
                while cut < len(held) and held[cut] & 0xC0 == 0x80:  # within a character
                    cut += 1
                held, at = held[cut:], at + cut
        return found

    # Any text

    def _spans(self, text: str, *, loose: bool) -> list[_Span]:
        """Returns what is masked in a text, and remembers it."""
        spans = []
        found = patterns.find(text, loose=loose)
        masked = [match.span() for match in MARKER.finditer(text)] if "[redacted:" in text else []
        for pattern in self._extra:
            for match in pattern.finditer(text):
                group = 1 if pattern.groups and match[1] is not None else 0
                if (place := _around(masked, *match.span(group))) is not None:
                    value = text[slice(*place)]
                    spans.append(_Span(*place, self._remember(value, "secret", named=True)))
        for start, end, kind in found:
            value = text[start:end]
            if not _overlaps(masked, start, end) and not _REFERENCE.fullmatch(value):
                spans.append(_Span(start, end, self._remember(value, kind, named=True)))
        for start, end, marker in self._values.find(text):
            if not _overlaps(masked, start, end):
                spans.append(_Span(start, end, marker))
        return _joined(spans)

    def _remember(self, value: str, kind: str, *, named: bool) -> str:
        marker = self._values.markers.get(value) or self._markers.of(kind, value)
        self._add(value, marker, named=named)
        if "%" in value:  # in an URL; elsewhere it may come as it is
            self._add(unquote(value), marker, named=named)
        return marker

    def _add(self, value: str, marker: str, *, named: bool) -> None:
        if self._values.add(value, marker, named=named):
            self._needles = None

    def _secret(self, text: str, kind: str, *, named: bool = True) -> list[_Span]:
        """Returns what is masked in a text that is a secret as a whole."""
        if not text.strip() or MARKER.fullmatch(text) or _REFERENCE.fullmatch(text):
            return []
        scheme = _SCHEME.match(text)
        start = scheme.end() if scheme is not None else 0
        secret = text[start:]
        if MARKER.search(secret):
            return []
        marker = self._remember(secret, kind, named=named)
        if scheme is not None and scheme[0].lower().startswith("basic"):
            self._remember_basic(secret, marker)
        if ";" in text and "=" in text:
            for cookie in _COOKIE.finditer(text):
                self._add(cookie[1], marker, named=False)
        self._spans(secret, loose=True)  # a URL with a password, for instance
        return [_Span(start, len(text), marker)]

    def _asked(self, text: str) -> list[_Span]:
        """Returns what is masked in a text that somebody named, though a part of it is a marker."""
        if not text.strip() or MARKER.fullmatch(text):
            return []
        return [_Span(0, len(text), self._remember(text, "secret", named=False))]

    def _remember_basic(self, code: str, marker: str) -> None:
        """Remembers the password in the credentials of basic authentication."""
        try:
            user, _, password = base64.b64decode(code).decode().partition(":")
        except (binascii.Error, ValueError):
            return
        self._add(f"{user}:{password}", marker, named=True)
        self._add(password, marker, named=True)


_WINDOW, _OVERLAP = 1 << 20, 16 << 10


def _around(masked: list[tuple[int, int]], start: int, end: int) -> tuple[int, int] | None:
    """Returns a range, with the markers whole that it touches; None if it is empty or in one."""
    if start == end or any(first <= start and end <= last for first, last in masked):
        return None
    for first, last in masked:
        if first < end and start < last:
            start, end = min(start, first), max(end, last)
    return start, end


class _LineScan:
    """Goes through the strings of one line."""

    def __init__(self, redactor: Redactor, head: bytes) -> None:
        self._redactor = redactor
        self.walk = StringWalk()
        self._methods = _methods_in(head, every=redactor._private)
        self._edits: list[Edit] = []
        self._entries: dict[int, tuple[list[str], list[tuple[JsonString, str]]]] = {}
        self._flags: dict[int, str] = {}

    def take(self, string: JsonString) -> None:
        """Takes one string."""
        redactor = self._redactor
        treatment, kind = rule_for(string.path, self._methods, private=redactor._private)
        is_asked = any(_is_under(string.path, path) for path in redactor._paths)
        if is_asked:
            treatment, kind = Treatment.SECRET, "secret"
        if treatment is Treatment.KEEP:
            return
        if treatment in (Treatment.NAME, Treatment.ENTRY):
            self._take_entry(string, treatment, kind)
            return
        decoded = Decoded(string.raw)
        if string.path[-1:] == ("*",) and treatment is Treatment.COMMAND:
            flag = self._flags.pop(string.owner, "")
            if decoded.text.startswith("-") and "=" not in decoded.text:
                self._flags[string.owner] = decoded.text.lstrip("-")
            elif flag and is_secret_name(flag):
                treatment, kind = Treatment.SECRET, kind_of((flag,))
        if treatment is Treatment.VARIABLE:
            variables = redactor._state.variables
            if len(variables) < MOST and decoded.text not in variables:
                variables.append(decoded.text)
        elif treatment is Treatment.SECRET:
            name = string.path[-1]
            is_named = kind not in ("env", "header") or is_secret_name(name, variable=True)
            spans = redactor._secret(decoded.text, kind, named=is_named)
            if is_asked and not spans:
                spans = redactor._asked(decoded.text)
            self._edits += _edits(decoded, string.start, spans)
        elif treatment is Treatment.QUERY:
            spans = redactor._spans(decoded.text, loose=True)
            for value in _QUERY_VALUE.finditer(decoded.text):
                marker = redactor._remember(value[1], "url", named=False)
                spans.append(_Span(value.start(1), value.end(1), marker))
            self._edits += _edits(decoded, string.start, _joined(spans))
        elif treatment is Treatment.PRIVATE:
            redactor._spans(decoded.text, loose=False)
            spans = [_Span(0, len(decoded.text), _blank(decoded.text))]
            self._edits += _edits(decoded, string.start, spans)
        else:
            spans = redactor._spans(decoded.text, loose=treatment is Treatment.COMMAND)
            self._edits += _edits(decoded, string.start, spans)
            self._take_encoded(string, decoded)

    def finish(self) -> list[Edit]:
        """Returns the edits; entries are decided now, since a name may follow its value."""
        redactor = self._redactor
        for names, values in self._entries.values():
            for string, kind in values:
                decoded = Decoded(string.raw)
                name, text, skipped = names[0] if names else "", decoded.text, 0
                if not names and string.path[-1] == "*":
                    name, equals, text = text.partition("=")
                    skipped = len(name) + len(equals)
                treatment, _ = of_variable(name, "headers" if kind == "header" else "env")
                if treatment is Treatment.SECRET:
                    is_named = is_secret_name(name, variable=True)
                    is_named = is_named or name in redactor._state.variables
                    spans = redactor._secret(text, kind, named=is_named)
                else:
                    spans = redactor._spans(text, loose=True)
                spans = [_Span(a + skipped, b + skipped, new) for a, b, new in spans]
                self._edits += _edits(decoded, string.start, spans)
        return self._edits

    def _take_entry(self, string: JsonString, treatment: Treatment, kind: str) -> None:
        is_word = string.path[-1] == "*"  # NAME=value, each a string of its own
        owner = -string.start if is_word else string.owner
        names, values = self._entries.setdefault(owner, ([], []))
        if treatment is Treatment.NAME:
            names.append(Decoded(string.raw).text)
        else:
            values.append((string, kind))

    def _take_encoded(self, string: JsonString, decoded: Decoded) -> None:
        """Masks secrets in the output of a terminal that is sent in base64."""
        if string.path[-1:] != ("data",) or not string.is_whole:
            return
        try:
            data = base64.b64decode(decoded.text, validate=True)
        except (binascii.Error, ValueError):
            return
        if not self._redactor._may_hold(data):
            return
        text = data.decode("utf-8", "surrogateescape")
        spans = self._redactor._spans(text, loose=False)
        if spans:
            new = base64.b64encode(_with(text, spans).encode("utf-8", "surrogateescape"))
            self._edits.append(Edit(string.start, string.end, new))


_QUERY_VALUE = re.compile(r"[?&#][^=&#]*=([^&#]+)")


def _overlaps(places: list[tuple[int, int]], start: int, end: int) -> bool:
    """Whether one of several ranges, which are in order, has a part of another one."""
    number = bisect_left(places, (end,))
    return number > 0 and places[number - 1][1] > start


_MARKER_END = 2 * HASH_SIZE + 2


def _context(text: str) -> str:
    """Returns the last characters of a text, but no part of a marker."""
    start = max(0, len(text) - CONTEXT)
    end = text.find("]", start) + 1
    if end and text[end - _MARKER_END : end - _MARKER_END + 1] == ":":
        for marker in MARKER.finditer(text, max(0, start - CONTEXT), end):
            if marker.start() < start < marker.end():
                return text[marker.end() :]
    return text[start:]


def _head(pieces: Iterable[bytes]) -> bytes:
    """Returns the first bytes of a line, whatever pieces it is read in."""
    head = b""
    for piece in pieces:
        head = (head + piece)[:_HEAD] if head else piece[:_HEAD]
        if len(head) == _HEAD:
            break
    return head


def _methods_in(head: bytes, *, every: bool) -> frozenset[str]:
    found = {name.decode("utf-8", "replace") for name in _METHOD.findall(head)}
    return frozenset(found if every else found & METHODS)


def _is_under(path: tuple[str, ...], pointer: tuple[str, ...]) -> bool:
    return len(path) >= len(pointer) and all(
        wanted in ("*", key) for key, wanted in zip(path, pointer, strict=False)
    )


def _blank(text: str) -> str:
    """Returns a text of the same length, of which only the blanks are left."""
    padding = len(text) - len(text.rstrip("="))
    return _SHOWN.sub("x", text[: len(text) - padding]) + "=" * padding


def _joined(spans: list[_Span]) -> list[_Span]:
    """Joins spans that overlap; what begins first, or is longer, says what stands there."""
    result: list[_Span] = []
    for span in sorted(spans, key=lambda each: (each.start, -each.end)):
        if result and span.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(span.end, result[-1].end))
        else:
            result.append(span)
    return result


def _with(text: str, spans: list[_Span]) -> str:
    parts, at = [], 0
    for start, end, new in spans:
        parts += [text[at:start], new]
        at = end
    return "".join([*parts, text[at:]])


def _edits(decoded: Decoded, start: int, spans: list[_Span]) -> Iterator[Edit]:
    """Yields the edits of a string in JSON."""
    for span in spans:
        new = json.dumps(span.new, ensure_ascii=False)[1:-1].encode("utf-8", "surrogateescape")
        yield Edit(start + decoded.place(span.start), start + decoded.place(span.end), new)


def _merged(edits: Iterable[Edit]) -> Edits:
    result: list[Edit] = []
    for edit in sorted(edits, key=lambda each: (each.start, -each.end)):
        if result and edit.start < result[-1].end:
            result[-1] = result[-1]._replace(end=max(edit.end, result[-1].end))
        else:
            result.append(edit)
    return tuple(result)


def _moved(edit: Edit, by: int) -> Edit:
    return edit._replace(start=edit.start + by, end=edit.end + by)
