"""Rows become index blocks as they come, and blocks of cells and lines when they are asked for."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

from acp_proxy.report.data_blocks import CELL_ROWS, PAYLOAD_ROWS
from acp_proxy.web import growing_rows
from acp_proxy.web.growing_rows import GrowingRows
from tests.support.log_writer import LogWriter, handshake, record_conversation

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def counts(rows: GrowingRows) -> list[int]:
    """Returns the number of rows in each index block until there are no more."""
    result = []
    before = rows.columns.rows
    while rows.next_block() is not None:
        result.append(rows.columns.rows - before)
        before = rows.columns.rows
    return result


def test_the_first_block_is_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`web` first sends a page a few rows, so that it soon shows something, and then more."""
    monkeypatch.setattr(growing_rows, "FIRST_ROWS", 5)
    monkeypatch.setattr(growing_rows, "LATER_ROWS", 8)
    rows = GrowingRows(record_conversation(tmp_path / "x.db"), unredacted=False)
    assert counts(rows) == [5, 8, 8, 2]
    assert rows.last == 23
    rows.reader.close()


def test_blocks_of_many_rows(tmp_path: Path) -> None:
    """`web` sends the rows of a long recording in blocks of fixed size; only the last one grows."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        rows = GrowingRows(tmp_path / "x.db", unredacted=False)
        assert counts(rows) == [3]
        assert len(json.loads(zlib.decompress(rows.block("c0") or b""))) == 3
        for number in range(CELL_ROWS):
            recorder.to_client({"jsonrpc": "2.0", "method": "x", "params": [number]})
        assert rows.block("c1") is None
        rows.reader.refresh()
        counts(rows)
        cells = [json.loads(zlib.decompress(rows.block(name) or b"")) for name in ("c0", "c1")]
        assert list(map(len, cells)) == [CELL_ROWS, 3]
        lines = [zlib.decompress(rows.block(name) or b"") for name in ("p0", "p1")]
        assert PAYLOAD_ROWS == CELL_ROWS
        first = b'{"jsonrpc":"2.0","method":"x","params":[%d]}' % (CELL_ROWS - 3)
        assert lines[1].startswith(first)
        assert rows.block("c2") is rows.block("p2") is None
        rows.reader.close()


def test_unchanged_rows_continue(tmp_path: Path) -> None:
    """If a recording ends, `web` does not send its page the same rows again."""
    path = tmp_path / "x.db"
    with LogWriter(path) as recorder:
        handshake(recorder)
        early = GrowingRows(path, unredacted=False)
        counts(early)
        recorder.end()
        recorder.close()
        recorder.finish()
    late = GrowingRows(path, unredacted=False)
    assert late.continues(early)
    assert (late.last, late.columns.rows) == (3, 3)
    assert counts(late) == [4]
    other = GrowingRows(record_conversation(tmp_path / "y.db"), unredacted=False)
    assert not other.continues(early)
    assert (other.last, other.columns.rows) == (0, 0)
    assert counts(other) == [23]
    for rows in (early, late, other):
        rows.reader.close()
