"""Reads frames as runs, where updates that an agent streams without a pause are one.

SQLite itself passes over what continues a run, so a million frames take a third of the time that
`FrameTable.heads` needs.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.protocol.peers import Stream
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.recording import FrameRun
from acp_proxy.store.checked_values import Mistyped
from acp_proxy.store.frame_table import FrameTable
from acp_proxy.store.schema import KIND_CODES, KIND_NAMES, STREAM_CODES, STREAM_NAMES

_LARGEST = 2 << 20
"""Bytes of a line from which on its header is read from its two ends."""
_BEYOND = 2**63 - 1
_NOTIFICATION, _STDERR = KIND_CODES[Kind.NOTIFICATION], KIND_CODES[Kind.STDERR]
_CONTINUES = (
    f"f.kind = {_NOTIFICATION} AND f.tool_call IS NULL AND f.terminal IS NULL"
    " AND f.turn = p.turn"
    f" AND p.kind = {_NOTIFICATION} AND p.tool_call IS NULL AND p.terminal IS NULL"
    " AND f.flags = p.flags"
    f" AND f.flags & 3 = {STREAM_CODES[Stream.TO_CLIENT]} AND f.method = p.method"
    " AND f.method = ? AND f.seq > ? AND f.t_ns - p.t_ns <= ?"
    " AND f.seq NOT IN (SELECT end_seq FROM turns WHERE end_seq IS NOT NULL)"
)
"""Whether a frame ``f`` continues the run of the frame ``p`` that directly precedes it: both are
updates of one turn that are about no tool call and no terminal, and do not end the turn."""

_Begun = tuple[int, int, str, str, bytes | None]
"""The first frame of a run: its number, time, stream, kind and line."""


def frame_runs(
    table: FrameTable, pause_ns: int, first: int, single_upto: int = 0
) -> Iterator[FrameRun]:
    """Yields the frames of a table in order, the updates of a run as one.

    Args:
        table: the table.
        pause_ns: a longer time between two frames ends a run; a negative one makes each frame a run
            by itself.
        first: the number from which on frames are read.
        single_upto: the number up to which each frame is a run by itself.

    Raises:
        sqlite3.Error, Mistyped: the file is damaged.
    """
    execute = table.connection.execute
    last_before = f"SELECT seq, t_ns FROM {table.rows} WHERE seq < ? ORDER BY seq DESC LIMIT 1"
    lines = table.lines
    raw = f"CASE WHEN f.kind != {_STDERR} AND {lines.size} <= {_LARGEST} THEN {lines.line} END"
    sql = (
        f"SELECT f.seq, f.t_ns, f.flags & 3, f.kind, {raw}, p.seq, p.t_ns"
        f" FROM {table.rows} AS f LEFT JOIN {table.rows} AS p ON p.seq = f.seq - 1"
        f" WHERE f.seq >= ? AND ({_CONTINUES}) IS NOT TRUE ORDER BY f.seq"
    )
    label = execute(f"SELECT id FROM {table.labels} WHERE text = ?", (UPDATE,)).fetchone()
    update = label[0] if label is not None and pause_ns >= 0 else None
    values = first, update, max(first, single_upto), pause_ns
    begun: _Begun | None = None
    for seq, t_ns, stream, kind, line, *last in execute(sql, values):
        if begun is not None:  # what directly precedes a run is the end of the one before
            yield _run(begun, execute(last_before, (seq,)).fetchone() if last[0] is None else last)
        if type(t_ns) is not int or (type(line) is not bytes and line is not None):
            raise Mistyped(f"frame {seq} has no time or no bytes")
        try:
            begun = seq, t_ns, STREAM_NAMES[stream], KIND_NAMES[kind], line
        except (KeyError, TypeError):
            raise Mistyped(f"frame {seq} has an unknown code") from None
    if begun is not None:
        yield _run(begun, execute(last_before, (_BEYOND,)).fetchone())


def _run(begun: _Begun, end: Sequence[Any]) -> FrameRun:
    """A run, by its first frame and the number and the time of its last one."""
    last_seq, last_ns = end
    if type(last_ns) is not int:
        raise Mistyped(f"frame {last_seq} has no time")
    return FrameRun(*begun, last_seq, last_ns)
