"""Prints one frame or event in full: its labels, its message, and the paired frame."""

from collections.abc import Iterator

from attrs import frozen

from acp_proxy.base.limits import SHOWN_FRAME
from acp_proxy.base.wording import byte_size, visible
from acp_proxy.cli.explain.log_screen import TimelineLayout
from acp_proxy.cli.screens.recording_page import LABEL
from acp_proxy.cli.screens.styled_text import Ink, Piece, piece
from acp_proxy.explain.log.frame_json import facts
from acp_proxy.explain.log.line_views import TokenKind, hex_view, pretty, unfolded
from acp_proxy.explain.log.timeline import event_line
from acp_proxy.explain.observed_faults import delivered_instead
from acp_proxy.protocol.jsonrpc import MESSAGE_KINDS
from acp_proxy.recording.recording import Recording
from acp_proxy.store.tables.checked_values import Row, is_excerpt

_TERMINAL_LONGEST = 100_000
"""How many characters of a message are shown on a terminal."""
_PAIR_LONGEST = 20_000
"""How many characters of the paired frame's message are shown; ``--seq`` shows all."""
_INKS = {
    TokenKind.KEY: Ink.TO_AGENT,
    TokenKind.STRING: Ink.TO_CLIENT,
    TokenKind.NUMBER: Ink.STDERR,
    TokenKind.WORD: Ink.PERMISSION,
    TokenKind.OTHER: Ink.TROUBLE,
    TokenKind.NOTE: Ink.FAINT,
}
_DIFF_INKS = {"-": Ink.TROUBLE, "+": Ink.TO_CLIENT, "@": Ink.FAINT}


@frozen
class FramePage:
    """Prints frames in full."""

    recording: Recording
    layout: TimelineLayout

    def lines(self, row: Row, pair: Row | None) -> Iterator[str]:
        """Yields the lines about a row and about its pair.

        Args:
            row: the frame or event.
            pair: the request of an answer, or the answer to a request; None if there is none.
        """
        yield self._title(row)
        for member in self.layout.member_lines(row):
            yield self.layout.text(member)
        for name, value in facts(row, self.recording, live=self.layout.live):
            if value not in (None, ""):
                label = piece(f"{name:<{LABEL}}", Ink.FAINT)
                yield self.layout.screen.whole(piece("  "), label, piece(str(value)))
        longest = _TERMINAL_LONGEST if self._on_terminal else SHOWN_FRAME
        yield from self._content(row, longest)
        yield from self._unfolded(row)
        if "raw" in row and (instead := delivered_instead(row)) is not None:
            yield ""
            yield self._note("delivered in its place:")
            yield from self._text(instead, longest)
        if pair is not None:
            yield ""
            yield self._title(pair)
            yield from self._content(pair, _PAIR_LONGEST)
            yield from self._unfolded(pair)

    def _title(self, row: Row) -> str:
        if "raw" not in row:
            return self.layout.text(event_line(row))
        return self.layout.text(self.layout.frame_line(row))

    def _content(self, row: Row, longest: int) -> Iterator[str]:
        if "raw" in row and is_excerpt(row):
            yield from self._text(bytes(row["raw"]), min(longest, len(row["raw"]) - 1), row["size"])
        elif "raw" not in row:
            yield from self._json(row["data"].encode(), longest, "--json")
        elif row["kind"] in MESSAGE_KINDS:
            hint = "--raw" if longest > _PAIR_LONGEST else f"--seq {row['seq']}"
            yield from self._json(bytes(row["raw"]), longest, hint)
        else:
            yield from self._text(bytes(row["raw"]), longest)

    def _unfolded(self, row: Row) -> Iterator[str]:
        """Yields the plans, diffs and long texts of a message, line by line."""
        if "raw" not in row or row["kind"] not in MESSAGE_KINDS or is_excerpt(row):
            return
        for place, lines in unfolded(bytes(row["raw"])):
            yield ""
            yield self._note(f"{place}:")
            is_diff = bool(lines) and lines[0].startswith("@@ -")
            for text in lines:
                ink = _DIFF_INKS.get(text[:1]) if is_diff else None
                yield self.layout.screen.whole(piece("  "), piece(text, ink))

    def _json(self, raw: bytes, longest: int, hint: str) -> Iterator[str]:
        for line in pretty(raw, elide=self._on_terminal, longest=longest):
            pieces: list[Piece] = [(text, _INKS.get(role), False) for role, text in line]
            yield self.layout.screen.whole(*pieces)
            if line and line[-1][0] is TokenKind.NOTE and line[-1][1].startswith("… cut"):
                yield self._note(f"{hint} prints the rest")

    def _text(self, raw: bytes, longest: int, whole: int | None = None) -> Iterator[str]:
        yield visible(raw[:longest].decode(errors="backslashreplace"))
        if len(raw) > longest:
            yield self._note(f"… cut: all of it is {byte_size(whole or len(raw))}; --raw prints it")
        rows = list(hex_view(raw))
        if rows:
            yield self._note("not UTF-8:")
            yield from rows

    def _note(self, text: str) -> str:
        return self.layout.screen.whole(piece(text, Ink.FAINT))

    @property
    def _on_terminal(self) -> bool:
        """Whether to replace base64 texts by their size, and to cut long texts."""
        return self.layout.screen.columns is not None
