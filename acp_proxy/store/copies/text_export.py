"""Writes recordings in the text form, and finds the line numbers of frames in a text form."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from functools import partial
from math import inf
from pathlib import Path

from acp_proxy.base.errors import DamagedRecording
from acp_proxy.base.plain_files import open_plain
from acp_proxy.recording.filters import EVERYTHING, Filter
from acp_proxy.recording.text_form.text_header import write_header
from acp_proxy.recording.text_form.text_reader import is_remark
from acp_proxy.recording.text_form.text_writer import LineWriter
from acp_proxy.store.copies.text_import import is_text_form
from acp_proxy.store.files.database import is_sqlite
from acp_proxy.store.rows import FiredRows, Rows
from acp_proxy.store.tables.checked_values import is_excerpt

_FIRED = (
    "SELECT seq, rule, action, received, delivered, late_ns FROM faults_fired ORDER BY seq, rowid"
)
_NUMBERS = (
    "SELECT seq FROM frames UNION ALL SELECT seq FROM events"
    " UNION ALL SELECT seq FROM faults_fired ORDER BY seq"
)


def write_text_form(reader: Rows, chosen: Filter = EVERYTHING) -> Iterator[bytes]:
    """Yields the lines of a recording's text form, each with its newline.

    Args:
        reader: the recording.
        chosen: the filter; lines that do not match are left out. The remaining lines keep their
            times and numbers.
    """
    line: list[bytes] = []
    for part in write_parts(reader, chosen):
        line.append(part)
        if part.endswith(b"\n"):
            yield b"".join(line)
            line.clear()


def write_parts(reader: Rows, chosen: Filter = EVERYTHING) -> Iterator[bytes]:
    """Yields a recording's text form in parts: whole lines, and parts of very large lines.

    Args:
        reader: the recording.
        chosen: as for `write_text_form`.
    """
    yield write_header(reader.recording)
    write = LineWriter()
    fired = FiredRows(reader.query(_FIRED))
    is_whole = chosen is EVERYTHING
    try:
        for row in reader.rows(chosen):
            seq = row["seq"]
            for omitted in fired.upto(seq - 1):  # their frame is left out, or has no row
                if is_whole:
                    yield write.fired(omitted)
            if "raw" in row and is_excerpt(row):
                yield from write.large(row, partial(reader.pieces, seq))
            else:
                yield write.frame(row) if "raw" in row else write.event(row)
            yield from map(write.fired, fired.upto(seq))
        if is_whole:
            yield from map(write.fired, fired.upto(inf))
    except (ValueError, TypeError, KeyError) as e:
        raise DamagedRecording(reader.path, str(e)) from None


def text_lines(reader: Rows, seqs: Collection[int]) -> dict[int, int]:
    """Returns the line numbers of frames and events in the text form, counted from 1.

    If the recording is a text form, the lines of its file are counted. For a database, the lines
    that `export` would write are counted. Numbers of missing frames are left out.

    Args:
        reader: the recording.
        seqs: the numbers of the frames and events.
    """
    wanted, by_seq = set(seqs), dict[int, int]()
    if not wanted:
        return by_seq
    for line, row in enumerate(reader.query(_NUMBERS), 2):  # the first line is the header
        seq = row["seq"]
        if seq in wanted:
            wanted.remove(seq)
            by_seq[seq] = line
            if not wanted:
                break
    is_text = not is_sqlite(reader.path) and is_text_form(reader.path)
    return _in_file(reader.path, by_seq) if is_text else by_seq


def _in_file(path: Path, by_seq: dict[int, int]) -> dict[int, int]:
    """Converts line numbers that skip blank lines and comments to the line numbers of a file."""
    lines = sorted(by_seq.values())
    places: dict[int, int] = {}
    counted = 0
    with suppress(OSError), open_plain(path) as file:
        for number, line in enumerate(file, 1):
            counted += not is_remark(line)
            while lines and lines[0] <= counted:
                places[lines.pop(0)] = number
            if not lines:
                break
    return {seq: places.get(line, line) for seq, line in by_seq.items()}
