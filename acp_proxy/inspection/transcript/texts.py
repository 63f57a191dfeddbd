"""Collects texts that come in pieces, and cuts long ones: the beginning and the end are kept."""

import json
from typing import Any

from acp_proxy.inspection.transcript.values import CutText, TextBlock, TextForm
from acp_proxy.protocol.chunks import mended


class TextCollector:
    """Collects the pieces of one text.

    Args:
        most: how many characters are kept, a quarter of them from the end; None for all.
    """

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._kept_at_end = 0 if most is None else most // 4
        self._start: list[str] = []
        self._room = most
        self._end = ""
        self.characters = 0

    def add(self, text: str) -> None:
        """Adds a piece, which may end with half of a surrogate pair."""
        self.characters += len(text)
        if self._room is None:
            self._start.append(text)
            return
        if self._room:
            self._start.append(text[: self._room])
            text, self._room = text[self._room :], max(0, self._room - len(text))
        if text:
            self._end += text[-self._kept_at_end :] if self._kept_at_end else ""
            if len(self._end) > 2 * self._kept_at_end:
                self._end = self._end[-self._kept_at_end :]

    @property
    def text(self) -> CutText:
        """The text so far, cut if it is too long."""
        start = "".join(self._start)
        if self._most is None or self.characters <= self._most:
            start = mended(start)
            return CutText(start, "", len(start))
        kept = self._most - self._kept_at_end
        end = (start[kept:] + self._end)[-self._kept_at_end :] if self._kept_at_end else ""
        return CutText(mended(start[:kept]), mended(end), self.characters)


def cut_text(text: str, most: int | None) -> CutText:
    """Returns a text, cut if it is too long.

    Args:
        text: the text.
        most: how many characters are kept; None for all.
    """
    collector = TextCollector(most)
    collector.add(text)
    return collector.text


def text_block(text: str, most: int | None, label: str = "") -> TextBlock:
    """Returns a block of text.

    Args:
        text: the text.
        most: how many characters are kept; None for all.
        label: the label of the block.
    """
    return TextBlock(TextForm.TEXT, cut_text(text, most), label)


def json_block(value: Any, most: int | None, label: str) -> TextBlock:
    """Returns a block with indented JSON.

    Args:
        value: a JSON value.
        most: how many characters are kept; None for all.
        label: the label of the block.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return TextBlock(TextForm.JSON, cut_text(text, most), label)


def note_block(text: str, most: int | None = 500) -> TextBlock:
    """Returns a block with a description of content that is not text.

    Args:
        text: the description.
        most: how many characters are kept; None for all.
    """
    return TextBlock(TextForm.NOTE, cut_text(text, most))
