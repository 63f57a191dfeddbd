"""Makes the data blocks of a report one by one, so that little of a recording is in memory.

`docs/report-data.md` describes the blocks. Each block is compressed, and is yielded as soon as it
is complete. The block ``meta`` comes last, since it contains how many blocks there are. The bytes
of the blocks depend only on the recording, the options, and the version of zlib.
"""

import zlib
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import msgspec

from acp_proxy import __version__
from acp_proxy.explain.stats.turn_times import waiting_part
from acp_proxy.explain.waits import AT_ONCE_NS
from acp_proxy.protocol.json_text import encode_json
from acp_proxy.report.conversation_entries import ConversationEntries
from acp_proxy.report.report_model import ReportData, ReportOptions, described, read_report_data
from acp_proxy.report.row_data import (
    DIFFERENCES,
    OWN_COLUMNS,
    SHARED_COLUMNS,
    TEXTS,
    ReportRow,
    RowReader,
    Texts,
    differences,
    number_codes,
    planes,
)
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row

FORMAT = 3
CHUNK_ROWS = 65_536
"""The number of rows whose columns are in one block."""
CELL_ROWS = 1_024
"""The number of rows whose cells are in one block."""
PAYLOAD_ROWS = 1_024
"""The largest number of rows whose lines are in one block."""
PAYLOAD_BYTES = 1 << 20
"""The largest size of the lines in one block, in bytes."""
_LEVEL = 5
"""The compression level of zlib: a compromise between the page's size and the time to make it."""
_MOST_MEMBERS = 5_000
"""The largest number of messages within batches that are described one by one."""


class DataBlock(NamedTuple):
    """A part of the data of a report."""

    name: str
    """The name of the block: ``i0``, ``c0``, ``p0``, ..., ``meta``. In a page, the block's element
    has this id."""
    parts: tuple[bytes, ...]
    """The data in pieces: base64 of the zlib format, which browsers call ``deflate``."""


def report_blocks(
    reader: RecordingReader, options: ReportOptions, data: ReportData | None = None
) -> Iterator[DataBlock]:
    """Yields the blocks of a report; the last block is ``meta``.

    A page contains each block as ``<script type="application/octet-stream"
    id="NAME">BASE64</script>``, in this order.

    Args:
        reader: the recording.
        options: the options of the report.
        data: the result of `read_report_data` for these options, if it was already called.

    Raises:
        BadFilter: the filter of the options is not valid for this recording.
        UnreadableRecording: the file is damaged or locked; may be raised after some blocks.
    """
    data = data or read_report_data(reader, options)
    chosen = options.chosen(reader)
    maker = _BlockMaker(reader, has_payloads=options.payloads)
    made: list[DataBlock] = []
    rows = maker.watch(reader.rows(chosen), made)
    conversation = ConversationEntries(reader, options, data.images, rows)
    for name, content in conversation.parts():
        yield from made
        made.clear()
        yield _block(name, content)
    counts = {**maker.counts(), **conversation.counts()}
    yield _block("meta", encode_json({**counts, **described(data)}))


class _BlockMaker:
    """Makes blocks from rows, in order.

    Args:
        reader: the recording.
        has_payloads: whether to make blocks with the bytes of lines.
    """

    def __init__(self, reader: RecordingReader, *, has_payloads: bool) -> None:
        self._reader = reader
        self._rows = RowReader(reader, has_payloads=has_payloads)
        self._columns = IndexBlocks()
        self._cells: list[list[Any]] = []
        self._cell_places: list[int] = []
        self._cell_blocks = 0
        self._payloads = _PayloadBlocks() if has_payloads else None

    def watch(self, rows: Iterable[Row], made: list[DataBlock]) -> Iterator[Row]:
        """Yields rows unchanged. Meanwhile, makes the blocks of these rows.

        Args:
            rows: all rows, in order.
            made: a list to which each complete block is appended.
        """
        columns, payloads, cells = self._columns, self._payloads, self._cells
        read = self._rows.read
        for row in rows:
            parts = read(row)
            place = columns.rows
            own, _, texts, data, _, _ = parts
            columns.add(row, parts)
            cells.append(texts)
            if len(cells) == CELL_ROWS:
                made.append(self._cell_block())
            if payloads is not None and data is not None and len(data) <= PAYLOAD_BYTES:
                made.extend(payloads.add(place, data))
            elif payloads is not None:
                pieces = self._reader.pieces(own[0]) if data is None else [data]
                made.extend(payloads.add_pieces(place, pieces))
            if columns.rows % CHUNK_ROWS == 0:
                made.extend(self._finish())
            yield row
        made.extend(self._finish())

    def _finish(self) -> Iterator[DataBlock]:
        """Yields the last blocks of cells and lines, and then the block of columns."""
        if self._cells:
            yield self._cell_block()
        if self._payloads is not None:
            yield from self._payloads.finish()
        if self._cell_places:
            cells, self._cell_places = self._cell_places, []
            name = f"i{self._columns.blocks}"
            places = self._payloads.take() if self._payloads else []
            yield _block(name, *self._columns.block(cells, places))

    def counts(self) -> dict[str, Any]:
        """Returns the members of ``meta`` that describe the blocks."""
        return {
            **self._columns.counts(),
            "cell_blocks": self._cell_blocks,
            "payloads": self._payloads is not None,
        }

    def _cell_block(self) -> DataBlock:
        number, self._cell_blocks = self._cell_blocks, self._cell_blocks + 1
        block = _block(f"c{number}", _encode(self._cells))
        self._cell_places.append(self._columns.rows - len(self._cells))
        self._cells.clear()
        return block


class IndexBlocks:
    """Makes blocks that contain the columns of rows.

    Attributes:
        rows: the number of rows so far.
        blocks: the number of blocks so far.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.blocks = 0
        self._texts = Texts()
        self._kinds = dict.fromkeys(TEXTS, "text") | dict.fromkeys(DIFFERENCES, "difference")
        self._encoders: dict[str, Callable[[Sequence[Any]], list[int]]] = {
            "text": self._texts.codes,
            "difference": lambda values: number_codes([*differences(values)]),
            "number": number_codes,
        }
        self._run: int | None = None
        """If the latest row continues a run: the index of the run's first row minus the index of
        the latest row, a negative number. Otherwise None."""
        self._own: list[tuple[Any, ...]] = []
        self._shared: list[tuple[Any, ...]] = []
        self._counts: list[int] = []
        """For each tuple of shared values, how many consecutive rows have these values."""
        self._methods: set[str] = set()
        """The methods of the agent's requests."""
        self._members: dict[str, list[dict[str, Any]]] = {}
        self._member_count = 0

    def add(self, row: Row, report_row: ReportRow) -> None:
        """Adds a row to the next block.

        Args:
            row: the row of `Rows.rows`.
            report_row: the data of the row, from `RowReader.read`.
        """
        own, shared, _, _, is_joined, members = report_row
        if row["kind"] == "request" and row["stream"] == "to-client" and row["method"] is not None:
            self._methods.add(row["method"])
        if members and self._member_count + len(members) <= _MOST_MEMBERS:
            self._member_count += len(members)
            self._members[str(self.rows)] = members
        self._run = (self._run or 0) - 1 if is_joined else None
        self._own.append((*own, self._run))
        if self._shared and self._shared[-1] is shared:
            self._counts[-1] += 1
        else:
            self._shared.append(shared)
            self._counts.append(1)
        self.rows += 1

    def counts(self) -> dict[str, Any]:
        """Returns the members of ``meta`` about the rows so far."""
        return {
            "format": FORMAT,
            "version": __version__,
            "rows": self.rows,
            "index_blocks": self.blocks,
            "parties": {method: waiting_part(method).value for method in sorted(self._methods)},
            "at_once_ns": AT_ONCE_NS,
            "members": self._members,
        }

    def block(self, cells: list[int], payloads: list[tuple[int, int]]) -> tuple[bytes, ...]:
        """Returns a block of the rows that were added since the previous block, uncompressed.

        Args:
            cells: the first row of each block that contains cells of these rows.
            payloads: the first row and the number of rows of each block that contains lines of
                these rows.
        """
        columns: list[tuple[str, str, int]] = []
        data = []
        *own, runs = zip(*self._own, strict=True)
        shared = map(self._expanded, zip(*self._shared, strict=True))
        names = (*OWN_COLUMNS, *SHARED_COLUMNS, "run")
        for name, values in zip(names, chain(own, shared, [runs]), strict=True):
            kind, is_empty = self._kinds.get(name, "number"), values.count(None) == len(values)
            width, encoded = planes(() if is_empty else self._encoders[kind](values))
            columns.append((name, kind, width))
            data.append(encoded)
        header = {
            "connection": 0,
            "channel": 0,
            "rows": len(self._own),
            "cells": cells,
            "payloads": payloads,
            "texts": self._texts.take_new(),
            "columns": columns,
        }
        self._own, self._shared, self._counts = [], [], []
        self.blocks += 1
        start = encode_json(header)
        return len(start).to_bytes(4, "little"), start, *data

    def _expanded(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns a value for each row: each value is repeated for all rows that share it."""
        return (*chain.from_iterable(map(repeat, values, self._counts)),)


class _PayloadBlocks:
    """Makes blocks that contain the bytes of lines."""

    def __init__(self) -> None:
        self._places: list[tuple[int, int]] = []
        self._blocks = self._first = self._size = 0
        self._lines: list[bytes] = []

    def add(self, place: int, line: bytes) -> Iterable[DataBlock]:
        """Adds a line; if the block has no room for the line, first ends and returns the block.

        Args:
            place: the number of the line's row.
            line: the line, of at most `PAYLOAD_BYTES`.
        """
        is_full = len(self._lines) == PAYLOAD_ROWS or self._size + len(line) > PAYLOAD_BYTES
        full = [*self.finish()] if is_full else ()
        if not self._lines:
            self._first = place
        self._lines.append(line)
        self._size += len(line)
        return full

    def add_pieces(self, place: int, pieces: Iterable[bytes]) -> Iterator[DataBlock]:
        """Adds a line that is too large for one block. Yields a block for each part of the line.

        Args:
            place: the number of the line's row.
            pieces: the line in pieces of any size.
        """
        yield from self.finish()
        for piece in _cut_evenly(pieces):
            self._first, self._lines = place, [piece]
            yield self._block()

    def finish(self) -> Iterator[DataBlock]:
        if self._lines:
            yield self._block()

    def _block(self) -> DataBlock:
        lines, self._lines, self._size = self._lines, [], 0
        self._places.append((self._first, len(lines)))
        number, self._blocks = self._blocks, self._blocks + 1
        return _block(f"p{number}", *lines)

    def take(self) -> list[tuple[int, int]]:
        """Returns the first row and the number of rows for each block made since the last call."""
        places, self._places = self._places, []
        return places


def _cut_evenly(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Cuts bytes into pieces of `PAYLOAD_BYTES` each; the last piece may be shorter."""
    rest = b""
    for piece in pieces:
        rest += piece
        start = 0
        while len(rest) - start >= PAYLOAD_BYTES:
            yield rest[start : start + PAYLOAD_BYTES]
            start += PAYLOAD_BYTES
        rest = rest[start:]
    if rest:
        yield rest


def compressed(*parts: bytes) -> bytes:
    """Returns the content of a block, compressed.

    The result depends only on the content and the version of zlib.

    Args:
        *parts: the content of the block.
    """
    packer = zlib.compressobj(_LEVEL)
    return b"".join([*map(packer.compress, parts), packer.flush()])


def _block(name: str, *parts: bytes) -> DataBlock:
    return DataBlock(name, (b64encode(compressed(*parts)),))


_encode = msgspec.json.Encoder().encode
