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
import re
from collections.abc import Iterable
from typing import Any

from attrs import define, field

from acp_proxy.protocol.jsonrpc import Message
from acp_proxy.protocol.peers import Stream
from acp_proxy.protocol.updates import CHUNKS
from acp_proxy.redaction.edits import (
    Edit,
    Edits,
    MaskedSpan,
    Pieces,
    blanked,
    edits_in,
    merge_edits,
    move,
    replaced,
)
from acp_proxy.redaction.json_strings import Decoded
from acp_proxy.redaction.line_scan import LineScan
from acp_proxy.redaction.markers import Markers
from acp_proxy.redaction.names import is_secret_name
from acp_proxy.redaction.pieces import PUSHES, Piece, PieceReader
from acp_proxy.redaction.places import kind_of
from acp_proxy.redaction.secret_finder import SecretFinder
from acp_proxy.redaction.text_streams import Following, StreamEnd, TextStreams

_STDERR = Stream.STDERR  # looking it up takes a while
_HEAD = 64 << 10
_LONGEST_WORD = 64
"""More bytes than the longest word that is looked for in a line has."""

_KEY_EDGE = re.compile(rb"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,40}-----")
_KEY_LINE = re.compile(rb"[\s|>]*(?:[A-Za-z0-9+/=]{1,100}|[A-Z][A-Za-z-]+: .{1,100})?\s*")


@define
class RedactorState:
    """What a redactor remembers. It holds secrets, so only the log may have it."""

    key: str
    """Of the markers, in hexadecimal digits."""
    values: dict[str, str] = field(factory=dict)
    """The secrets, each with its marker."""
    streams: dict[str, StreamEnd] = field(factory=dict)
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
        self._private = private
        self._paths = paths
        self._is_thorough = bool(private or paths or extra)
        self._finder = SecretFinder(markers or Markers(bytes.fromhex(state.key)), extra)
        for value, marker in state.values.items():
            self._finder.values.add(value, marker, named=True, is_known=True)
        self._pieces = PieceReader()
        self._streams = TextStreams(self._finder, state.streams, is_thorough=self._is_thorough)
        self._harmless = b""
        self._harmless_for = 0
        """What stands around a piece and holds nothing."""
        self.count = 0
        """How many values were masked."""

    def line(
        self,
        stream: Stream,
        raw: bytes,
        following: Following = lambda: iter(()),
        message: Message | None = None,
        searched: int | None = None,
    ) -> Edits:
        """Returns the edits of a line.

        Args:
            stream: where it was read.
            raw: its bytes, without the newline.
            following: gives the lines after it, if they are needed.
            message: the line as it was read, if it was.
            searched: what `search_lines` returned for several lines with this one.

        Raises:
            NotYet: of ``following``; the line is as good as not fed.
        """
        if stream is _STDERR:
            return self._stderr_line(raw)
        if message is not None and self._is_harmless(raw, message, searched):
            return ()
        if not self._paths and (piece := self._pieces.read(raw)) is not None:
            return self._piece(piece, following)
        if not (self._is_thorough or self._finder.may_hold(raw)):
            return ()
        return self.large(stream, lambda: (raw,))

    def search_lines(self, raw: bytes) -> int | None:
        """Searches several lines at once, which takes less time than one by one.

        Args:
            raw: their bytes.

        Returns:
            For how many words they were searched, or None if they hold one of these.
        """
        return None if self._finder.may_hold(raw) else self._finder.needles.count

    def alone(self, raw: bytes) -> Edits:
        """Returns the edits of a line that is looked at by itself, out of its order.

        Args:
            raw: its bytes, without the newline.
        """
        if not (self._is_thorough or self._finder.may_hold(raw)):
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
        known = len(self._finder.values.markers)
        edits = self._edits_of_json(stream, head, pieces)
        if len(self._finder.values.markers) > known:  # one may stand before the place that shows it
            edits = self._edits_of_json(stream, head, pieces)
        return self._counted(edits)

    def _edits_of_json(self, stream: Stream, head: bytes, pieces: Pieces) -> list[Edit]:
        scan = LineScan(
            self._finder,
            head,
            self._state.variables,
            private=self._private,
            paths=self._paths,
        )
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
        pieces = self._finder.values.fragments(raw)
        found = [Edit(start, end, marker.encode()) for start, end, marker in pieces]
        return merge_edits([*self.large(stream, lambda: (raw,)), *found])

    def text(self, text: str, *, loose: bool = True) -> str:
        """Returns a text without its secrets.

        Args:
            text: whatever it is.
            loose: whether it is a command, an error or the like, where names count.
        """
        spans = self._finder.spans(text, loose=loose)
        self.count += len(spans)
        return replaced(text, spans)

    def command(self, words: list[str]) -> list[str]:
        """Returns a command line without its secrets.

        Args:
            words: the program and its arguments.
        """
        known, count = len(self._finder.values.markers), self.count
        found = self._command(words)
        if len(self._finder.values.markers) > known:  # one may stand before the word that shows it
            self.count = count
            found = self._command(words)
        return found

    def _command(self, words: list[str]) -> list[str]:
        found = []
        names = [""] + [word.lstrip("-") if word.startswith("-") else "" for word in words]
        for name, word in zip(names, words, strict=False):
            is_value = bool(name) and "=" not in name and not word.startswith("-")
            if is_value and is_secret_name(name):
                found.append(replaced(word, self._finder.secret(word, kind_of((name,)))))
                self.count += found[-1] != word
            else:
                found.append(self.text(word))
        return found

    def mark(self) -> object:
        """Returns what `restore` needs to forget the lines that are fed from now on."""
        return dict(self._streams.kept), self._state.in_private_key

    def restore(self, mark: Any) -> None:
        """Forgets the lines since a `mark`; the secrets that they showed stay known."""
        self._streams.kept, self._state.in_private_key = mark

    def snapshot(self) -> RedactorState:
        """Returns what the next redactor of this recording has to know."""
        self._state.values = dict(self._finder.values.markers)
        self._state.streams = self._streams.kept
        return self._state

    def _may_any_hold(self, pieces: Iterable[bytes]) -> bool:
        """Whether a line that is not held may hold anything to mask, see `_may_hold`."""
        end = b""
        for piece in pieces:
            seam = end + piece[:_LONGEST_WORD]
            if self._finder.may_hold(piece) or self._finder.may_hold(seam):
                return True
            end = (end + piece[-_LONGEST_WORD:])[-_LONGEST_WORD:]
        return False

    def _counted(self, edits: Iterable[Edit]) -> Edits:
        merged = merge_edits(edits)
        self.count += len(merged)
        return merged

    # Pieces of text

    def _is_harmless(self, raw: bytes, message: Message, searched: int | None) -> bool:
        """Whether nothing is to be masked in a line, as nearly always; the quick way."""
        if self._is_thorough:
            return False
        if searched != self._finder.needles.count and self._finder.may_hold(raw):
            return False
        update, text = message.update, message.text
        if text is not None and update in CHUNKS:
            return self._streams.passes(f"{update} {message.session}", text)
        return update not in PUSHES and message.method not in PUSHES

    def _piece(self, piece: Piece, following: Following) -> Edits:
        """Returns the edits of a line that is a piece of a longer text."""
        around: Edits = ()
        known = len(self._finder.values.markers)
        if piece.around is not self._harmless or self._harmless_for != known:
            if self._finder.may_hold(piece.around):
                around = tuple(
                    edit if edit.end <= piece.start else move(edit, len(piece.literal))
                    for edit in self.large(Stream.TO_CLIENT, lambda: (piece.around,))
                )
            if not around and known == len(self._finder.values.markers):
                self._harmless, self._harmless_for = piece.around, known
        if self._private:
            spans = [MaskedSpan(0, len(piece.text), blanked(piece.text))] if piece.text else []
        else:
            spans = self._streams.spans(piece, following)
        if not spans:
            return around
        self.count += sum(bool(span.new) for span in spans)
        if piece.is_encoded:
            new = replaced(piece.text, spans).encode("utf-8", "surrogateescape")
            return merge_edits([*around, Edit(piece.start, piece.end, base64.b64encode(new))])
        return merge_edits([*around, *edits_in(Decoded(piece.literal), piece.start, spans)])

    # Text that is no JSON

    def _stderr_line(self, raw: bytes) -> Edits:
        """Returns the edits of a line of stderr, where a private key may have several lines."""
        was_inside = self._state.in_private_key and bool(_KEY_LINE.fullmatch(raw))
        edges = _KEY_EDGE.findall(raw)
        self._state.in_private_key = edges[-1] == b"BEGIN" if edges else was_inside
        if was_inside and raw.strip():
            line = raw.decode("utf-8", "surrogateescape")
            return self._counted([Edit(0, len(raw), self._finder.markers.of("pem", line).encode())])
        if not (self._is_thorough or self._finder.may_hold(raw)):
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
            spans = self._finder.spans(text, loose=True)
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


_WINDOW, _OVERLAP = 1 << 20, 16 << 10


def _head(pieces: Iterable[bytes]) -> bytes:
    """Returns the first bytes of a line, whatever pieces it is read in."""
    head = b""
    for piece in pieces:
        head = (head + piece)[:_HEAD] if head else piece[:_HEAD]
        if len(head) == _HEAD:
            break
    return head
