"""Queries of the frames that are about a tool call or a terminal, one function each.

Each takes an open recording, and raises `UnreadableRecording` if the file is damaged or locked.
"""

from collections.abc import Iterator

from acp_proxy.recording import StoredFrame
from acp_proxy.store.frame_queries import FRAME, Span
from acp_proxy.store.rows import Rows

_START = "substr(raw, 1, 65536) AS raw"
_HELD = 1 << 20
"""Bytes of the largest line that is read whole."""


def call_frames(
    rows: Rows, session: str | None, tool_call: str, after: int
) -> Iterator[tuple[StoredFrame, bytes | None]]:
    """Yields the frames about the tool calls with an id, in order; none of a batch.

    Of a large line the frame has the first 64 KiB, and beside it are the last 64 KiB.

    Args:
        rows: the recording.
        session: of the tool calls.
        tool_call: their id.
        after: the frames up to this number are left out.
    """
    sql = (
        f"SELECT {FRAME}, CASE WHEN size <= {_HELD} THEN raw"
        " ELSE substr(raw, 1, 65536) END AS raw,"
        f" CASE WHEN size > {_HELD} THEN substr(raw, -65536) END AS tail FROM frames"
        " WHERE tool_call = ? AND session IS ? AND kind IN ('notification', 'request')"
        " AND seq > ? ORDER BY seq"
    )
    for row in rows.query(sql, (tool_call, session, after)):
        *frame, tail = row.values()
        yield StoredFrame(*frame), tail


def edges_of_call(
    rows: Rows, session: str | None, tool_call: str, span: Span, most: int
) -> list[bytes]:
    """Returns the first 64 KiB of the first and of the last lines about a tool call, in order.

    Args:
        rows: the recording.
        session: of the tool call.
        tool_call: its id.
        span: the first and last number that count.
        most: the largest count of either; if there are fewer, some come twice.
    """
    sql = (
        f"SELECT {_START} FROM frames WHERE tool_call = ? AND session IS ? AND seq BETWEEN ? AND ?"
        f" AND kind IN ('notification', 'request') ORDER BY seq {{}} LIMIT {most}"
    )
    first, last = (
        [row["raw"] for row in rows.query(sql.format(order), (tool_call, session, *span))]
        for order in ("ASC", "DESC")
    )
    return first + last[::-1]


def call_updates_of_turn(rows: Rows, turn: int, span: Span) -> Iterator[int]:
    """Yields the numbers of a turn's updates of tool calls, and of all batches in between.

    Args:
        rows: the recording.
        turn: the number of the turn.
        span: the first and last number that count.
    """
    sql = (
        "SELECT seq FROM frames WHERE seq BETWEEN ? AND ? AND ((turn = ? AND tool_call IS NOT NULL"
        " AND method = 'session/update') OR kind = 'batch')"
    )
    return (row["seq"] for row in rows.query(sql, (*span, turn)))


def frames_of_call(rows: Rows, session: str | None, tool_call: str, span: Span) -> Iterator[int]:
    """Yields the numbers of the frames that are about a tool call, and of no batch.

    Args:
        rows: the recording.
        session: of the tool call.
        tool_call: its id.
        span: the first and last number that count.
    """
    sql = (
        "SELECT seq FROM frames WHERE tool_call = ? AND session IS ? AND seq BETWEEN ? AND ?"
        " AND kind IN ('notification', 'request') ORDER BY seq"
    )
    return (row["seq"] for row in rows.query(sql, (tool_call, session, *span)))


def frames_of_terminal(rows: Rows, session: str | None, terminal: str, first: int) -> Iterator[int]:
    """Yields the numbers of the frames that are about a terminal, its creation included.

    It ends where another terminal of the same id is created.

    Args:
        rows: the recording.
        session: of the terminal.
        terminal: its id.
        first: the first number that counts.
    """
    # "+" keeps SQLite from the index of methods, by which it would look at all terminals.
    sql = (
        "SELECT seq, (SELECT request_seq FROM exchanges WHERE response_seq = frames.seq"
        " AND +method = 'terminal/create') AS created FROM frames"
        " WHERE terminal = ? AND session IS ? AND seq >= ? ORDER BY seq"
    )
    is_created = False
    for row in rows.query(sql, (terminal, session, first)):
        if row["created"] is not None and row["created"] >= first:
            if is_created:
                return
            is_created = True
            yield row["created"]
        yield row["seq"]
