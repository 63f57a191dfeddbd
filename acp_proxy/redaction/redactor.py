"""Finds the secrets in the lines of a connection and replaces them with markers.

Pass all lines of a recording to one redactor, in order. A value that one message shows to be a
secret is masked in later messages too.

The redactor returns *edits*, which replace ranges of a line; all other bytes stay. Ids, methods and
member names are never edited.

A secret may be split over several messages. If the end of a piece may be the beginning of a secret,
the redactor also reads the next pieces. If the next pieces have not arrived yet, the redactor
raises `NotYet`: pass the line again later.

A redactor writes no file. The caller stores `RedactorState`, with which the next redactor of the
recording continues. The state contains secrets.
"""

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from attrs import define, field

from acp_proxy.base.limits import LINE_EDGE
from acp_proxy.protocol.jsonrpc import Message, Stream
from acp_proxy.protocol.updates import CHUNKS
from acp_proxy.redaction.edits import (
    Edit,
    Edits,
    MaskedSpan,
    Pieces,
    edits_in,
    merge_edits,
    move,
    replaced,
    without_mending,
)
from acp_proxy.redaction.json_strings import Decoded, encoded_base64
from acp_proxy.redaction.line_scan import LineScan
from acp_proxy.redaction.markers import Markers
from acp_proxy.redaction.private_text import blanked
from acp_proxy.redaction.secret_finder import SecretFinder
from acp_proxy.redaction.secret_names import is_secret_name
from acp_proxy.redaction.secret_places import kind_of
from acp_proxy.redaction.text_pieces import PUSHES, Piece, PieceReader, may_be_piece
from acp_proxy.redaction.text_streams import Following, StreamEnd, TextStreams

_STDERR = Stream.STDERR  # enum lookups are slow
_LONGEST_WORD = 64
"""A length in bytes; every searched word is shorter."""

_KEY_EDGE = re.compile(rb"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,40}-----")
_KEY_LINE = re.compile(rb"[\s|>]*(?:[A-Za-z0-9+/=]{1,100}|[A-Z][A-Za-z-]+: .{1,100})?\s*")


@define
class RedactorState:
    """The memory of a redactor, which is stored only in the log, since it contains secrets."""

    key: str
    """The key of the markers' hashes, in hexadecimal digits."""
    values: dict[str, str] = field(factory=dict)
    """The marker of each secret."""
    streams: dict[str, StreamEnd] = field(factory=dict)
    """The ends of the texts that arrive in pieces, by key."""
    hashes: list[str] = field(factory=list)
    """Hashes of further secrets; see `HashedSecrets`."""
    variables: list[str] = field(factory=list)
    """Names of variables that the agent announced as secrets."""
    in_private_key: bool = False
    """Whether the latest line of stderr is inside a private key."""


class Redactor:
    """Masks the lines of one recording.

    Args:
        state: the memory of an earlier redactor of the recording, or a new state.
        private: whether prompts, messages and file contents are masked too.
        paths: the JSON pointers of further values to mask; ``*`` stands for any member.
        extra: further patterns. The match of a pattern's first group is masked; without a group,
            the whole match is masked.
        markers: makes the markers; by default an object with the key in ``state``.
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
        markers = markers or Markers(bytes.fromhex(state.key))
        self._finder = SecretFinder(markers, extra, state.hashes)
        self._with_same_options = partial(
            Redactor, private=private, paths=paths, extra=extra, markers=markers
        )
        for value, marker in state.values.items():
            self._finder.values.add(value, marker, named=True, is_known=True)
        self._pieces = PieceReader()
        self._streams = TextStreams(self._finder, state.streams, is_thorough=self._is_thorough)
        self._harmless = b""
        self._harmless_for = 0
        """The value of `known` at the time when `_harmless` (the bytes around the latest piece) was
        found to contain nothing to mask."""
        self.count = 0
        """The number of values that were masked."""

    @property
    def known(self) -> int:
        """A number that grows with each new secret; earlier lines may then need masking again."""
        return len(self._finder.values.markers) + self._streams.left

    def again(self) -> "Redactor":
        """Returns a redactor that knows all secrets found so far, for reading all lines again."""
        values, variables = dict(self._finder.values.markers), [*self._state.variables]
        return self._with_same_options(RedactorState(self._state.key, values, variables=variables))

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
            stream: the stream that the line was read from.
            raw: the bytes of the line, without the newline.
            following: returns the next lines of the stream; only called if they are needed.
            message: the parsed line, if the caller has parsed it.
            searched: the result of `search_lines` for a block of lines that contains this line.

        Raises:
            NotYet: raised by ``following`` if needed lines have not arrived; pass the line again.
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
        """Searches several lines at once, which is faster than to search them one by one.

        Args:
            raw: the bytes of the lines.

        Returns:
            None if a word matched; otherwise the number of words that were searched for.
        """
        return None if self._finder.may_hold(raw) else self._finder.needles.count

    def holds_nothing(self, lines: list[bytes]) -> bool:
        """Whether a single search shows that several consecutive lines have nothing to mask.

        If the result is False, pass each line to `line`.

        Args:
            lines: lines of messages, not of stderr.
        """
        if self._is_thorough:
            return False
        joined = b"\n".join(lines)
        return not (may_be_piece(joined) or self._finder.may_hold(joined))

    def alone(self, raw: bytes) -> Edits:
        """Returns the edits of a line, ignoring the lines before and after it.

        Args:
            raw: the bytes of the line, without the newline.
        """
        if not (self._is_thorough or self._finder.may_hold(raw)):
            return ()
        return self.large(Stream.TO_AGENT, lambda: (raw,))

    def large(self, stream: Stream, pieces: Pieces) -> Edits:
        """Returns the edits of a line that may be too large for memory.

        Args:
            stream: the stream that the line was read from.
            pieces: returns the bytes of the line, without the newline; called several times.
        """
        if not (self._is_thorough or self._may_any_hold(pieces())):
            return ()
        head = _head(pieces())
        if head.lstrip()[:1] not in (b"{", b"["):
            return self._counted(self._edits_of_text(pieces()))
        known = self.known
        edits = self._edits_of_json(stream, head, pieces)
        if self.known > known:  # a new secret may also occur earlier in the line
            edits = self._edits_of_json(stream, head, pieces)
        return self._counted(edits)

    def _edits_of_json(self, stream: Stream, head: bytes, pieces: Pieces) -> list[Edit]:
        scan = LineScan(
            self._finder, head, self._state.variables, private=self._private, paths=self._paths
        )
        for string in scan.walk.strings(pieces()):
            scan.take(string)
        edits = scan.finish()
        if stream is Stream.STDERR:
            edits += self._edits_of_text(pieces())
        elif not scan.walk.is_json:
            edits = without_mending(pieces, [*edits, *self._edits_of_text(pieces())])
        return edits

    def changed(self, stream: Stream, raw: bytes) -> Edits:
        """Returns the edits of a line that a fault has changed or added.

        A fault may cut a value, or send only some pieces of a text. So fragments of known secrets
        are masked too.

        Args:
            stream: the stream that the line was written to.
            raw: the bytes of the line, without the newline.
        """
        pieces = self._finder.values.fragments(raw)
        own = [Edit(start, end, marker.encode()) for start, end, marker in pieces]
        return merge_edits([*self.large(stream, lambda: (raw,)), *own])

    def text(self, text: str, *, loose: bool = True) -> str:
        """Returns a text without its secrets.

        Args:
            text: any text.
            loose: whether the text is a command, an error or the like; see `secret_patterns.find`.
        """
        spans = self._finder.spans(text, loose=loose)
        self.count += len(spans)
        return replaced(text, spans)

    def without_known(self, text: str) -> str:
        """Returns a text without the known secrets; does not search for other secrets."""
        return replaced(text, [MaskedSpan(*match) for match in self._finder.values.find(text)])

    def command(self, words: list[str]) -> list[str]:
        """Returns a command line without its secrets.

        Args:
            words: the program and its arguments.
        """
        known, count = self.known, self.count
        masked = self._command(words)
        if self.known > known:  # a new secret may also be in an earlier word
            self.count = count
            masked = self._command(words)
        return masked

    def _command(self, words: list[str]) -> list[str]:
        masked = []
        names = [""] + [word.lstrip("-") if word.startswith("-") else "" for word in words]
        for name, word in zip(names, words, strict=False):
            is_value = bool(name) and "=" not in name and not word.startswith("-")
            if is_value and is_secret_name(name):
                masked.append(replaced(word, self._finder.secret(word, kind_of((name,)))))
                self.count += masked[-1] != word
            else:
                masked.append(self.text(word))
        return masked

    def mark(self) -> object:
        """Returns a mark, so that `restore` can undo the effect of the next lines."""
        return dict(self._streams.kept), self._state.in_private_key

    def restore(self, mark: Any) -> None:
        """Undoes the effect of the lines that were passed after a mark; their secrets stay known.

        Args:
            mark: the value that `mark` returned.
        """
        self._streams.kept, self._state.in_private_key = mark

    def snapshot(self) -> RedactorState:
        """Returns the memory that the next redactor of this recording needs."""
        self._state.values = dict(self._finder.values.markers)
        self._state.streams = self._streams.kept
        return self._state

    def _may_any_hold(self, pieces: Iterable[bytes]) -> bool:
        """Whether a line, passed in pieces, may have anything to mask."""
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
        """Whether a line certainly has nothing to mask; fast, for nearly all lines."""
        if self._is_thorough:
            return False
        if searched != self._finder.needles.count and self._finder.may_hold(raw):
            return False
        update, text = message.update, message.text
        if text is not None and update in CHUNKS:
            key = f"{update} {message.session} {message.message_id}"
            return self._streams.passes(key, text)
        return update not in PUSHES and message.method not in PUSHES

    def _piece(self, piece: Piece, following: Following) -> Edits:
        """Returns the edits of a line that is a piece of a longer text."""
        around: Edits = ()
        known = self.known
        if piece.around is not self._harmless or self._harmless_for != known:
            if self._finder.may_hold(piece.around):
                around = tuple(
                    edit if edit.end <= piece.start else move(edit, len(piece.literal))
                    for edit in self.large(Stream.TO_CLIENT, lambda: (piece.around,))
                )
            if not around and known == self.known:
                self._harmless, self._harmless_for = piece.around, known
        if self._private:
            spans = [MaskedSpan(0, len(piece.text), blanked(piece.text))] if piece.text else []
        else:
            spans = self._streams.spans(piece, following)
        if not spans:
            return around
        self.count += sum(bool(span.new) for span in spans)
        if piece.is_encoded:
            new = encoded_base64(replaced(piece.text, spans))
            return merge_edits([*around, Edit(piece.start, piece.end, new)])
        return merge_edits([*around, *edits_in(Decoded(piece.literal), piece.start, spans)])

    # Text that is not JSON

    def _stderr_line(self, raw: bytes) -> Edits:
        """Returns the edits of a line of stderr. The line may be a part of a private key."""
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
        """Returns the edits of a line that is not JSON, or is a log line in JSON."""
        masked: list[Edit] = []
        buffered, at, source, is_over = b"", 0, iter(pieces), False
        while not is_over:
            while not is_over and len(buffered) < _WINDOW + _OVERLAP:
                piece = next(source, None)
                is_over = piece is None
                buffered += piece or b""
            text = buffered.decode("utf-8", "surrogateescape")
            spans = self._finder.spans(text, loose=True)
            masked += (
                Edit(
                    at + len(text[: span.start].encode("utf-8", "surrogateescape")),
                    at + len(text[: span.end].encode("utf-8", "surrogateescape")),
                    span.new.encode("utf-8", "surrogateescape"),
                )
                for span in spans
            )
            if not is_over:
                cut = len(buffered) - _OVERLAP
                while cut < len(buffered) and buffered[cut] & 0xC0 == 0x80:  # inside a character
                    cut += 1
                buffered, at = buffered[cut:], at + cut
        return masked


_WINDOW, _OVERLAP = 1 << 20, 16 << 10


def _head(pieces: Iterable[bytes]) -> bytes:
    """Returns the first `LINE_EDGE` bytes of a line, or all bytes of a shorter line."""
    head = b""
    for piece in pieces:
        head = (head + piece)[:LINE_EDGE] if head else piece[:LINE_EDGE]
        if len(head) == LINE_EDGE:
            break
    return head
