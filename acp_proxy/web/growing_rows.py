"""Makes the rows of one recording into index blocks, for as long as the recording grows.

Blocks of cells and lines are made again from the recording when a page asks for them, so a window
that is open for days keeps little in memory.
"""

import zlib
from collections.abc import Iterator
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import msgspec

from acp_proxy.explain.show.wait_watch import WaitWatch
from acp_proxy.recording.filters import EVERYTHING
from acp_proxy.report.data_blocks import (
    CELL_ROWS,
    PAYLOAD_BYTES,
    PAYLOAD_ROWS,
    IndexBlocks,
    compressed,
)
from acp_proxy.report.row_data import SHARED_COLUMNS, ReportRow, RowReader
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row, is_excerpt

FIRST_ROWS, LATER_ROWS = 1_000, 8_192
"""The largest number of rows in the first block, which is shown soon, and in each later block."""
_ANSWERED = slice(SHARED_COLUMNS.index("request_seq"), SHARED_COLUMNS.index("answer_terminal") + 1)
"""The columns of a request that its answer sets. The page derives them from the answer."""
_encode = msgspec.msgpack.Encoder().encode


class GrowingRows:
    """The rows of a recording for one page.

    Args:
        path: the recording.
        unredacted: whether secrets are shown.

    Attributes:
        reader: the recording.
        columns: makes the blocks; it knows how many rows there are so far.
        last: the number of the last row that was read.
        waits: tells who has to act.

    Raises:
        UnreadableRecording: the recording cannot be read.
    """

    def __init__(self, path: Path, *, unredacted: bool) -> None:
        self.reader = RecordingReader(path, unredacted=unredacted)
        self.begin()

    def begin(self) -> None:
        """Forgets all rows, so that they are read again from the first one."""
        self._rows, self.columns = RowReader(self.reader), IndexBlocks()
        self.last = 0
        self._cells: list[int] = []
        """The number of the first row in each block of cells."""
        self._lines: list[tuple[int, int]] = []
        """For each block of lines: the number of its first row, and the index of the piece that the
        block contains of this row's line; 0 if the line is not divided."""
        self._line_rows = self._line_bytes = 0
        self._masked_again = self.reader.masked_again
        self._sum = 0
        """The checksum of all rows so far."""
        self.waits = WaitWatch(self.reader)

    @property
    def has_changed(self) -> bool:
        """Whether rows that were read have changed, so that all rows must be read again."""
        return self.reader.masked_again > self._masked_again

    def next_block(self) -> bytes | None:
        """Returns an index block with the next rows; None if there are no more rows now."""
        columns, cells, lines = self.columns, list[int](), list[tuple[int, int]]()
        known, most = columns.rows, LATER_ROWS if columns.rows else FIRST_ROWS
        for row in islice(self.reader.rows(EVERYTHING, self.last), most):
            parts = self._rows.read(row)
            self._place(columns.rows, parts, cells, lines)
            columns.add(row, parts)
            self.last = row["seq"]
            self._sum = _added(self._sum, row, parts)
        if columns.rows > known:
            return compressed(*columns.block(cells, lines))
        return None

    def _place(
        self, place: int, parts: ReportRow, cells: list[int], lines: list[tuple[int, int]]
    ) -> None:
        """Notes the blocks of cells and the blocks of lines that begin with the given row."""
        seq, length = parts.own[0], parts.own[-1]
        if place % CELL_ROWS == 0:
            self._cells.append(seq)
            cells.append(place)
        is_full = self._line_rows == PAYLOAD_ROWS or self._line_bytes + length > PAYLOAD_BYTES
        if is_full or not self._lines:
            for piece in range(max(1, -(-length // PAYLOAD_BYTES))):
                self._lines.append((seq, piece))
                lines.append((place, 1))
            self._line_rows = self._line_bytes = 0
        self._line_rows += 1
        self._line_bytes += length

    def block(self, name: str) -> bytes | None:
        """Returns a block of cells or lines; None if there is no such block.

        Args:
            name: the name of the block, such as ``c0`` or ``p12``.
        """
        kind, number = name[:1], int(name[1:])
        if kind == "c" and number < len(self._cells):
            reader = RowReader(self.reader)
            rows = self._from(self._cells[number], CELL_ROWS)
            return compressed(msgspec.json.encode([reader.read(row).cells for row in rows]))
        if kind != "p" or number >= len(self._lines):
            return None
        seq, piece = self._lines[number]
        end = next((s for s, _ in islice(self._lines, number + 1, None) if s != seq), None)
        lines = []
        for row in self._from(seq, PAYLOAD_ROWS):
            if end is not None and row["seq"] >= end:
                break
            lines.append(self._line(row, piece))
        return compressed(*lines)

    def _from(self, seq: int, most: int) -> Iterator[Row]:
        """Yields at most ``most`` rows from a number on, up to the last row of the index blocks."""
        rows = islice(self.reader.rows(EVERYTHING, seq - 1), most)
        return takewhile(lambda row: row["seq"] <= self.last, rows)

    def _line(self, row: Row, piece: int) -> bytes:
        """Returns the line of a row, or the given piece of a line larger than `PAYLOAD_BYTES`."""
        data = row["data"].encode() if "raw" not in row else row["raw"]
        start, end = piece * PAYLOAD_BYTES, (piece + 1) * PAYLOAD_BYTES
        if "raw" not in row or not is_excerpt(row):
            return bytes(data[start:end])
        at, kept = 0, b""
        for part in self.reader.pieces(row["seq"]):
            kept += part[max(0, start - at) : max(0, end - at)]
            at += len(part)
            if at >= end:
                break
        return kept

    def continues(self, earlier: "GrowingRows") -> bool:
        """Continues where an earlier reading ended, if the rows that it read are unchanged.

        The rows may be in another file now: the recorder moves rows, and after its end a reader
        does. A row may have changed because of a later row, for instance if the later row shows a
        secret. Columns that a page derives from later rows are not compared.

        Args:
            earlier: the earlier reading.

        Returns:
            Whether the rows are unchanged. If not, all rows have to be sent again.
        """
        checksum = 0
        for row in takewhile(lambda row: row["seq"] <= earlier.last, self.reader.rows(EVERYTHING)):
            checksum = _added(checksum, row, self._rows.read(row))
        if checksum != earlier._sum:
            self.begin()
            return False
        self._sum, self.last, self.columns = checksum, earlier.last, earlier.columns
        self._cells, self._lines = earlier._cells, earlier._lines
        self._line_rows, self._line_bytes = earlier._line_rows, earlier._line_bytes
        return True


def _added(checksum: int, row: Row, parts: ReportRow) -> int:
    """Adds a row to a checksum of rows, and returns the new checksum."""
    own, shared, cells, data, is_joined, _ = parts
    values: list[Any] = [own, shared[: _ANSWERED.start], shared[_ANSWERED.stop :], cells, is_joined]
    if row["kind"] != "request":
        values.append(shared[_ANSWERED])
    return zlib.crc32(data or b"", zlib.crc32(_encode(values), checksum))
