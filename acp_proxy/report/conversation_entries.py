"""Makes the conversation of a report: blocks with the sections and entries of `transcript`.

A page draws one entry after the other. An entry of a single sender, such as a prompt or a
message, contains its text. The page reads the texts of tool calls, terminals and requests from
the lines of the report.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

from acp_proxy.base.forms import converter
from acp_proxy.base.limits import LAST_NUMBER
from acp_proxy.explain.choice import chosen_in
from acp_proxy.explain.transcript.entries import (
    EntryKind,
    MediaBlock,
    TextLimits,
    TranscriptEntry,
    TranscriptSection,
)
from acp_proxy.explain.transcript.transcript import TranscriptReader
from acp_proxy.protocol.json_text import encode_json
from acp_proxy.recording.filters import EVERYTHING
from acp_proxy.report.images import PageImage
from acp_proxy.report.report_model import ReportOptions
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row

ENTRIES = 256
"""The number of sections and entries in one block."""
_FROM_LINES = (EntryKind.TOOL_CALL, EntryKind.TERMINAL, EntryKind.PERMISSION, EntryKind.REQUEST)
"""Kinds of entries whose texts a page reads from the lines of the report."""


class ConversationEntries:
    """Makes the entries of a report and the images in them.

    Args:
        reader: the recording.
        options: the options of the report.
        images: the images that the page may show, by their data in base64.
        rows: the rows of the report; they are read to the end.
    """

    def __init__(
        self,
        reader: RecordingReader,
        options: ReportOptions,
        images: dict[str, PageImage],
        rows: Iterator[Row],
    ) -> None:
        chosen = chosen_in(reader, options.filter) if options.filter.strip() else EVERYTHING
        turn = options.turn
        whole = TextLimits(None, LAST_NUMBER)
        self._transcript = TranscriptReader(reader, chosen, whole, turn, None if turn else rows)
        self._rows = rows
        self._has_texts = options.payloads
        self._images = images
        self._shown: dict[str, int] = {}
        """For each image in an entry, by the image's data in base64: the number of the image."""
        self._index: list[tuple[int, int | None, str]] = []

    def parts(self) -> Iterator[tuple[str, bytes]]:
        """Yields the name and the uncompressed content of each block."""
        values: list[dict[str, Any]] = []
        for item in self._transcript.read():
            if isinstance(item, TranscriptSection):
                values.append(self._section(item))
                self._index.append((item.seq, item.last_seq, "section"))
            else:
                values.append(self._entry(item))
                self._index.append((item.seq, item.last_seq, item.kind.value))
            if len(values) == ENTRIES:
                yield f"e{len(self._index) // ENTRIES - 1}", encode_json(values)
                values = []
        if values:
            yield f"e{len(self._index) // ENTRIES}", encode_json(values)
        deque(self._rows, 0)  # rows after the last entry have blocks, too
        of_all = [*zip(*self._index, strict=True)] or [(), (), ()]
        names = ("seq", "last_seq", "kind")
        yield "entries", encode_json({"first": 0, **dict(zip(names, of_all, strict=True))})
        for encoded, number in self._shown.items():
            yield f"g{number}", self._images[encoded].data

    def counts(self) -> dict[str, Any]:
        """Returns the members of ``meta`` about the blocks; call it when `parts` has ended."""
        shown = [self._images[encoded] for encoded in self._shown]
        sizes = [[image.type, image.width, image.height] for image in shown]
        return {"entries": len(self._index), "images": sizes}

    def _entry(self, entry: TranscriptEntry) -> dict[str, Any]:
        value: dict[str, Any] = {"type": "entry", **converter.unstructure(entry)}
        kept = []
        for block, plain in zip(entry.blocks, value["blocks"], strict=True):
            if isinstance(block, MediaBlock) and block.data in self._images:
                number = self._shown.setdefault(block.data, len(self._shown))
                kept.append({**plain, "image": number})
            elif self._has_texts and entry.kind not in _FROM_LINES:
                kept.append(plain)
        return {**value, "blocks": kept}

    def _section(self, section: TranscriptSection) -> dict[str, Any]:
        value: dict[str, Any] = {"type": "section", **converter.unstructure(section)}
        return {**value, "heading": section.heading}
