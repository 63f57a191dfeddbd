"""Converts content of any dialect to text blocks, and collects texts that come in pieces.

Content that is not text is described in words. Of a long text, the beginning and the end are kept.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from attrs import Factory, define

from acp_proxy.base.limits import BLOCKS, DESCRIPTION, SHORT_LIST
from acp_proxy.base.text_diff import unified
from acp_proxy.explain.describe.content_texts import content as describe
from acp_proxy.explain.describe.content_texts import diff as describe_diff
from acp_proxy.explain.describe.content_texts import exit_state
from acp_proxy.explain.describe.phrases import Value, part, parts, word
from acp_proxy.explain.observed_faults import mark
from acp_proxy.explain.transcript.entries import (
    CutText,
    EntryKind,
    MediaBlock,
    TextBlock,
    TextForm,
    TranscriptEntry,
)
from acp_proxy.protocol.chunks import mended
from acp_proxy.store.tables.checked_values import Row


class TextCollector:
    """Collects the pieces of one text.

    Args:
        most: the largest number of characters that are kept, a quarter of them from the end; None
            for all characters.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._kept_at_end = 0 if most is None else most // 4
        self._start: list[str] = []
        self._room = sys.maxsize if most is None else most
        self._end = ""
        self.characters = 0

    def add(self, text: str) -> None:
        """Adds a piece of the text. The piece may end with half of a surrogate pair."""
        size, room = len(text), self._room
        self.characters += size
        if room:
            self._start.append(text[:room])
            self._room = max(0, room - size)
        if size > room and self._kept_at_end:
            self._end += text[room:][-self._kept_at_end :]
            if len(self._end) > 2 * self._kept_at_end:
                self._end = self._end[-self._kept_at_end :]

    @property
    def text(self) -> CutText:
        """The text so far. If it is longer than the limit, its middle is left out."""
        start = "".join(self._start)
        if self._most is None or self.characters <= self._most:
            start = mended(start)
            return CutText(start, "", len(start))
        kept = self._most - self._kept_at_end
        end = (start[kept:] + self._end)[-self._kept_at_end :] if self._kept_at_end else ""
        return CutText(mended(start[:kept]), mended(end), self.characters)


def cut_text(text: str, most: int | None) -> CutText:
    """Returns a text. Of a text that is too long, the middle is left out.

    Args:
        text: the text.
        most: the largest number of characters; None for all.
    """
    collector = TextCollector(most)
    collector.add(text)
    return collector.text


def text_block(text: str, most: int | None, label: str = "") -> TextBlock:
    """Returns a block of text.

    Args:
        text: the text.
        most: the largest number of characters; None for all.
        label: the name of the text, such as the path of a file; empty for no name.
    """
    return TextBlock(TextForm.TEXT, cut_text(text, most), label)


def json_block(value: Any, most: int | None, label: str) -> TextBlock:
    """Returns a block with indented JSON.

    Args:
        value: a JSON value.
        most: the largest number of characters; None for all.
        label: the name of the value, such as ``input``; empty for no name.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return TextBlock(TextForm.JSON, cut_text(text, most), label)


def value_block(value: Any, most: int | None, label: str) -> TextBlock:
    """Returns a block with a JSON value: a text as it is, and any other value as indented JSON.

    Args:
        value: a JSON value.
        most: the largest number of characters; None for all.
        label: the name of the value, such as ``input``; empty for no name.
    """
    return (text_block if isinstance(value, str) else json_block)(value, most, label)


def note_block(text: str) -> TextBlock:
    """Returns a block with a description of content that is not text."""
    return TextBlock(TextForm.NOTE, cut_text(text, DESCRIPTION))


PieceKey = tuple[str | None, str, str, bool]
"""The key of a message: its session, its kind of update, its id, and whether it is hidden."""
STDERR = "stderr"
"""The word in a `PieceKey` for a line of stderr, in place of a kind of update."""


@define
class MessageRun:
    """Consecutive pieces of one message, or lines of stderr. They become one entry."""

    key: PieceKey
    _first: Row
    """The row of the frame with the first piece."""
    _text: TextCollector
    _last: Row = Factory(dict)
    _remarks: list[str] = Factory(list)

    def add(self, row: Row, text: str) -> None:
        """Adds the next piece of the message.

        Args:
            row: the row of the frame with the piece.
            text: the text of the piece.
        """
        is_line = self.key[1] == STDERR
        self._text.add(f"\n{text}" if is_line and self._text.characters else text)
        self._last = row
        if len(self._remarks) < SHORT_LIST and not is_line and (remark := mark(row)):
            self._remarks.append(f"#{row['seq']} {remark.strip()}")

    def entry(self) -> TranscriptEntry | None:
        """Returns the entry; None if there is neither text nor a remark."""
        text = self._text.text
        if not text.characters and not self._remarks:
            return None
        first, last = self._first, self._last
        session, update, _, is_hidden = self.key
        kind = EntryKind.THOUGHT if "thought" in update else EntryKind.MESSAGE
        detail = update if update.startswith("compaction") else ""
        return TranscriptEntry(
            EntryKind.STDERR if update == STDERR else kind, first["seq"], last["seq"],
            first["t_ns"], took_ns=last["t_ns"] - first["t_ns"], session=session,
            by="client" if update.startswith("user") else "agent",
            detail="not visible" if is_hidden else detail, remarks=self._remarks,
            blocks=[TextBlock(TextForm.TEXT, text)] if text.characters else [],
        )  # fmt: skip


_DEEPEST = 10


def blocks_of(
    value: object, most: int | None, label: str = "", depth: int = 0
) -> Iterator[TextBlock]:
    """Yields the text blocks of a value: a content block, an array of these, or plain text.

    Args:
        value: any JSON value.
        most: the largest number of characters of each text; None for all.
        label: the label of blocks of plain text.
        depth: how many content blocks and arrays contain the value.
    """
    if isinstance(value, str):
        if value:
            yield text_block(value, most, label)
    elif isinstance(value, list) and depth < _DEEPEST:
        for item in value[:BLOCKS]:
            yield from blocks_of(item, most, label, depth + 1)
        if len(value) > BLOCKS:
            yield note_block(f"… and {len(value) - BLOCKS:,} more")
    elif isinstance(value, dict):
        yield from _of_block(value, most, label, depth)


def output_blocks(value: object, most: int | None) -> Iterator[TextBlock]:
    """Converts the output of a tool, which is content or any JSON, to text blocks.

    Args:
        value: any JSON value.
        most: the largest number of characters of each text; None for all.
    """
    items = value if isinstance(value, list) else [value]
    if isinstance(value, str) or all(isinstance(item, dict) and "type" in item for item in items):
        yield from blocks_of(value, most, "output")
    elif value not in (None, {}, []):
        yield json_block(value, most, "output")


def _of_block(block: Value, most: int | None, label: str, depth: int) -> Iterator[TextBlock]:
    match block.get("type"):
        case "text" if isinstance(block.get("text"), str):
            yield from blocks_of(block["text"], most, label)
        case "content" if depth < _DEEPEST:
            yield from blocks_of(block.get("content"), most, label, depth + 1)
        case "diff":
            yield from _diffs(block, most)
        case "resource":
            yield from _resource(block, most)
        case "terminal":
            yield from _terminal(block, most)
        case _:
            yield from _note(block, part(block, "source") or block)


def _diffs(block: Value, most: int | None) -> Iterator[TextBlock]:
    path, new, old = word(block, "path"), block.get("newText"), block.get("oldText")
    if isinstance(new, str) and (old is None or isinstance(old, str)):
        is_new = old is None
        lines = "\n".join(unified(old or "", new))
        label = f"{path} (new file)" if is_new else path
        if lines:
            yield TextBlock(TextForm.DIFF, cut_text(lines, most), label)
        else:
            yield note_block(f"{label}: unchanged")
        return
    patch = block.get("patch")
    text = patch.get("text") if isinstance(patch, dict) else patch
    hunks = [word(hunk, "content") for hunk in parts(block, "hunks")]
    text = text if isinstance(text, str) else "\n".join(filter(None, hunks))
    if not text or parts(block, "changes"):
        yield note_block(describe_diff(block))
    if text:
        yield TextBlock(TextForm.DIFF, cut_text(text, most), path or "patch")


def _resource(block: Value, most: int | None) -> Iterator[TextBlock]:
    inner = part(block, "resource") or block
    text = inner.get("text", inner.get("content"))
    if isinstance(text, str) and text:
        yield text_block(text, most, word(inner, "uri") or "resource")
    else:
        yield from _note(block, inner)


def _note(block: Value, source: Value) -> Iterator[TextBlock]:
    """Yields one block: the description of a content block, and the data of an image or file."""
    note, data = note_block(describe(block)), source.get("data", source.get("blob"))
    if isinstance(data, str) and note.text.characters:
        yield MediaBlock(form=note.form, text=note.text, data=data)
    elif note.text.characters:
        yield note


def _terminal(block: Value, most: int | None) -> Iterator[TextBlock]:
    """Yields a description of a terminal; in the 1.0 draft, also the terminal's output."""
    words = ("terminal", word(block, "terminalId"), word(block, "command"), exit_state(block))
    yield note_block(" ".join(filter(None, words)))
    for stream in ("stdout", "stderr"):
        if text := word(block, stream):
            yield text_block(text, most, stream)
