"""Decodes the data of a report as `docs/report-data.md` describes it, and as a page does."""

from __future__ import annotations

import json
import zlib
from base64 import b64decode
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from acp_proxy.report.data_blocks import DataBlock

ENTRIES = 256
"""The number of entries in a block, as docs/report-data.md says."""


@frozen
class DecodedReport:
    """All data of a report page."""

    meta: dict[str, Any]
    rows: list[dict[str, Any]]
    """The columns of each row by name, and its cells."""
    lines: list[bytes] | None
    """The bytes of each row."""
    payloads: list[tuple[int, int]]
    """The first row and the number of rows of each block of lines."""
    names: list[str]
    """The names of the blocks, in their order."""
    conversation: list[dict[str, Any]]
    """The sections and entries of the conversation."""
    images: list[bytes]
    """The images in the conversation, by number."""


def decode(blocks: Iterable[DataBlock]) -> DecodedReport:
    """Decodes the blocks of a report."""
    return decode_data(
        {block.name: zlib.decompress(b64decode(b"".join(block.parts))) for block in blocks}
    )


def decode_data(data: dict[str, bytes], *, are_growing: bool = False) -> DecodedReport:
    """Decodes the contents of blocks.

    Args:
        data: the blocks by name.
        are_growing: whether an index block names only the blocks that begin in its rows, as in a
            live window.
    """
    meta = json.loads(data["meta"])
    rows: list[dict[str, Any]] = []
    texts: list[str] = []
    payloads: list[tuple[int, int]] = []
    for number in range(meta["index_blocks"]):
        block = _decode_index(data[f"i{number}"], texts, payloads)
        assert are_growing or block.cells[0] == len(rows)
        rows += block.rows
    if are_growing:
        places = [place for place, _ in payloads]
        payloads = [(a, b - a or 1) for a, b in pairwise([*places, len(rows)])]
    for place, row in enumerate(rows):  # the row that begins a run is told by the next one
        if row["run"] is not None and row["run"] < 0 and rows[place + row["run"]]["run"] is None:
            rows[place + row["run"]]["run"] = 0
    cells = [row for n in range(meta["cell_blocks"]) for row in json.loads(data[f"c{n}"])]
    assert len(rows) == len(cells) == meta["rows"]
    for row, own in zip(rows, cells, strict=True):
        names = ("text", "rpc_id", "parse_error", "fired")
        row.update(dict(zip(names, [*own, None, None, None, None], strict=False)))
    conversation = [item for n in range(_blocks_of(meta)) for item in json.loads(data[f"e{n}"])]
    index = json.loads(data["entries"])
    kinds = [item.get("kind", "section") for item in conversation]
    of_all = {name: [item[name] for item in conversation] for name in ("seq", "last_seq")}
    assert index == {"first": 0, **of_all, "kind": kinds}
    images = [data[f"g{n}"] for n in range(len(meta["images"]))]
    lines = _decode_lines(rows, payloads, data) if meta["payloads"] else None
    return DecodedReport(meta, rows, lines, payloads, [*data], conversation, images)


def _blocks_of(meta: dict[str, Any]) -> int:
    """Returns the number of blocks with entries of the conversation."""
    return -(-int(meta["entries"]) // ENTRIES)


def numbers(codes: Iterable[int], *, are_differences: bool = False) -> list[int | None]:
    """Decodes the stored codes of a column into numbers; code 0 is None."""
    values: list[int | None] = []
    before = 0
    for code in codes:
        if code == 0:
            values.append(None)
            continue
        value = (code - 1) >> 1 if (code - 1) & 1 == 0 else -(code >> 1)
        if are_differences:
            value = before = before + value
        values.append(value)
    return values


def column(data: bytes, width: int, rows: int) -> list[int]:
    """Returns the codes of a column, whose bytes are stored in one plane for each byte."""
    codes = [0] * rows
    for plane in range(width):
        for row in range(rows):
            codes[row] |= data[plane * rows + row] << 8 * plane
    return codes


class _IndexBlock(NamedTuple):
    rows: list[dict[str, Any]]
    cells: list[int]


def _decode_index(data: bytes, texts: list[str], payloads: list[tuple[int, int]]) -> _IndexBlock:
    size = int.from_bytes(data[:4], "little")
    header, at = json.loads(data[4 : 4 + size]), 4 + size
    assert (header["connection"], header["channel"]) == (0, 0)
    texts += header["texts"]
    payloads += map(tuple, header["payloads"])
    rows: list[dict[str, Any]] = [{} for _ in range(header["rows"])]
    for name, kind, width in header["columns"]:
        end = at + width * len(rows)
        codes = column(data[at:end], width, len(rows))
        at = end
        values: list[Any]
        if kind == "text":
            values = [None if code == 0 else texts[code - 1] for code in codes]
        else:
            values = numbers(codes, are_differences=kind == "difference")
        for row, value in zip(rows, values, strict=True):
            row[name] = value
    assert at == len(data)
    return _IndexBlock(rows, header["cells"])


def _decode_lines(
    rows: list[dict[str, Any]], payloads: list[tuple[int, int]], data: dict[str, bytes]
) -> list[bytes]:
    lines = [b""] * len(rows)
    for number, (first, count) in enumerate(payloads):
        block = data[f"p{number}"]
        if count == 1:
            lines[first] += block
            continue
        at = 0
        for place in range(first, first + count):
            lines[place] = block[at : at + rows[place]["length"]]
            at += rows[place]["length"]
        assert at == len(block)
    assert [len(line) for line in lines] == [row["length"] for row in rows]
    places = [place for place, _ in payloads]
    assert all(a <= b for a, b in pairwise(places))
    return lines
