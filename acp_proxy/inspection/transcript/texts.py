"""Keeps the beginning and the end of texts that come in pieces, however long they are."""

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
        """Adds a piece; it may end in half of a surrogate pair."""
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
        """What was collected."""
        start = "".join(self._start)
        if self._most is None or self.characters <= self._most:
            start = mended(start)
            return CutText(start, "", len(start))
        kept = self._most - self._kept_at_end
        end = (start[kept:] + self._end)[-self._kept_at_end :] if self._kept_at_end else ""
        return CutText(mended(start[:kept]), mended(end), self.characters)


def cut_text(text: str, most: int | None) -> CutText:
    """Returns a text, of a long one its beginning and its end.

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
        label: what it is.
    """
    return TextBlock(TextForm.TEXT, cut_text(text, most), label)


def json_block(value: Any, most: int | None, label: str) -> TextBlock:
    """Returns a block with a value of JSON, indented.

    Args:
        value: the value.
        most: how many characters are kept; None for all.
        label: what it is.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return TextBlock(TextForm.JSON, cut_text(text, most), label)


def note_block(text: str, most: int | None = 500) -> TextBlock:
    """Returns a description of what is no text.

    Args:
        text: the description.
        most: how many characters are kept.
    """
    return TextBlock(TextForm.NOTE, cut_text(text, most))
