"""Writes what was observed in a recording in the text form, a line at a time."""

from collections.abc import Iterator
from functools import partial
from math import inf

from acp_proxy.errors import DamagedRecording
from acp_proxy.filters import EVERYTHING, Filter
from acp_proxy.store.checked_values import is_excerpt
from acp_proxy.store.rows import FiredRows, Rows
from acp_proxy.text_form.header import write_header
from acp_proxy.text_form.writer import LineWriter

_FIRED = (
    "SELECT seq, rule, action, received, delivered, late_ns FROM faults_fired ORDER BY seq, rowid"
)


def write_text_form(reader: Rows, chosen: Filter = EVERYTHING) -> Iterator[bytes]:
    """Yields the lines of a recording's text form, each with its newline.

    Args:
        reader: the recording.
        chosen: leaves lines out; the others keep their times and their numbers.
    """
    line: list[bytes] = []
    for part in write_parts(reader, chosen):
        line.append(part)
        if part.endswith(b"\n"):
            yield b"".join(line)
            line.clear()


def write_parts(reader: Rows, chosen: Filter = EVERYTHING) -> Iterator[bytes]:
    """Yields the text form as `write_text_form` does, a line that is very large in parts.

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
            for omitted in fired.upto(seq - 1):  # of a frame that is left out, or has no row
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
