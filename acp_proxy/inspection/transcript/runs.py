"""Joins the pieces of a message that an agent streams, and the lines of stderr."""

from acp_proxy.inspection.fault_effects import mark
from acp_proxy.inspection.transcript.texts import TextCollector
from acp_proxy.inspection.transcript.values import EntryKind, TextBlock, TextForm, TranscriptEntry
from acp_proxy.store.checked_values import Row

_MOST_REMARKS = 20


class MessageRun:
    """Consecutive pieces of one message, or lines of stderr, which become one entry.

    Args:
        key: the session and the message that all pieces belong to.
        row: the frame of the first piece.
        text: collects the text.
        kind: the kind of the entry.
        by: the sender: client or agent.
        detail: see `TranscriptEntry`.
    """

    def __init__(
        self,
        key: tuple[str | None, str],
        row: Row,
        text: TextCollector,
        kind: EntryKind,
        by: str,
        detail: str,
    ) -> None:
        self.key = key
        self._first = row["seq"], row["t_ns"]
        self._text = text
        self._kind, self._by, self._detail = kind, by, detail
        self._last, self._last_ns = self._first
        self._remarks: list[str] = []

    def add(self, row: Row, text: str) -> None:
        """Adds a piece.

        Args:
            row: the frame of the piece.
            text: the text of the piece.
        """
        is_line = self._kind is EntryKind.STDERR
        self._text.add(f"\n{text}" if is_line and self._text.characters else text)
        self._last, self._last_ns = row["seq"], row["t_ns"]
        if len(self._remarks) < _MOST_REMARKS and not is_line and (found := mark(row)):
            self._remarks.append(f"#{row['seq']} {found.strip()}")

    def entry(self) -> TranscriptEntry | None:
        """Returns the entry, or None if there is neither text nor a remark."""
        text = self._text.text
        if not text.characters and not self._remarks:
            return None
        seq, t_ns = self._first
        return TranscriptEntry(
            self._kind,
            seq,
            self._last,
            t_ns,
            took_ns=self._last_ns - t_ns,
            session=self.key[0],
            by=self._by,
            detail=self._detail,
            remarks=self._remarks,
            blocks=[TextBlock(TextForm.TEXT, text)] if text.characters else [],
        )
