"""Reads the frames about a tool call or a terminal, with one function for each question.

Each function reads an open recording, and raises `UnreadableRecording` if the file is damaged or
locked.
"""

from collections.abc import Collection, Iterator

from acp_proxy.base.limits import LINE_EDGE, SMALL_LINE
from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.recording.recording import StoredFrame
from acp_proxy.store.queries.frames import FRAME, Span
from acp_proxy.store.rows import Rows
from acp_proxy.store.tables.schema import KIND_CODES


def call_frames(
    rows: Rows, session: str | None, tool_call: str, after: int
) -> Iterator[tuple[StoredFrame, bytes | None]]:
    """Yields the updates and requests about all tool calls with one id, in order, except batches.

    Each item is a frame and the end of its line. If a line is large, the frame contains the first
    64 KiB, and the end is the last 64 KiB. For other lines, the end is None.

    Args:
        rows: the recording.
        session: the session of the tool calls.
        tool_call: the id of the tool calls.
        after: only frames with a higher number.
    """
    sql = (
        f"SELECT {FRAME}, CASE WHEN size <= {SMALL_LINE} THEN raw"
        f" ELSE substr(raw, 1, {LINE_EDGE}) END AS raw,"
        f" CASE WHEN size > {SMALL_LINE} THEN substr(raw, -{LINE_EDGE}) END AS tail FROM frames"
        " WHERE tool_call = ? AND session IS ? AND kind IN ('notification', 'request')"
        " AND seq > ? ORDER BY seq"
    )
    for row in rows.query(sql, (tool_call, session, after)):
        *frame, tail = row.values()
        yield StoredFrame(*frame), tail


def edges_of_call(
    rows: Rows, session: str | None, tool_call: str, span: Span, most: int
) -> list[bytes]:
    """Returns the first and the last lines about a tool call, each line cut to 64 KiB.

    Only updates and requests are considered.

    Args:
        rows: the recording.
        session: the session of the tool call.
        tool_call: the id of the tool call.
        span: the first and the last frame number to consider.
        most: how many first lines, and how many last lines, to return. With few lines, some are
            returned twice.
    """
    sql = (
        f"SELECT substr(raw, 1, {LINE_EDGE}) AS raw FROM frames WHERE tool_call = ?"
        " AND session IS ? AND seq BETWEEN ? AND ? AND kind IN ('notification', 'request')"
        f" ORDER BY seq {{}} LIMIT {most}"
    )
    first, last = (
        [row["raw"] for row in rows.query(sql.format(order), (tool_call, session, *span))]
        for order in ("ASC", "DESC")
    )
    return first + last[::-1]


def calls_of_turn(rows: Rows, turn: int, span: Span) -> Iterator[int]:
    """Yields the frame numbers of a turn's messages about tool calls, and of all batches.

    Args:
        rows: the recording.
        turn: the number of the turn.
        span: the first and the last frame number to consider.
    """
    # With the plus, SQLite uses the indexes of these rare frames, not the frame numbers, which
    # are faster in a short span.
    is_within = f"{'+' if span[1] - span[0] > 10_000 else ''}seq BETWEEN ?1 AND ?2"
    sql = (
        f"SELECT seq FROM frame_rows WHERE tool_call IS NOT NULL AND turn = ?3 AND {is_within}"
        " UNION ALL SELECT seq FROM frame_rows"
        f" WHERE kind > 1 AND kind = {KIND_CODES[Kind.BATCH]} AND {is_within}"
    )
    return (row["seq"] for row in rows.query(sql, (*span, turn)))


def call_updates_with(rows: Rows, words: Collection[str]) -> list[int]:
    """Returns the frame numbers of tool call updates that contain one of the given words.

    The updates of a replayed history are left out, since they belong to no turn.

    Args:
        rows: the recording.
        words: the words to search for. A line must contain at least one of the words in double
            quotes.
    """
    has_word = " OR ".join(["instr(raw, ?)"] * len(words))
    # With a condition on the method, SQLite would read all updates instead of those about calls.
    sql = (
        "SELECT seq FROM frames WHERE tool_call IS NOT NULL AND turn IS NOT NULL"
        f" AND kind = 'notification' AND ({has_word})"
    )
    return [row["seq"] for row in rows.query(sql, [f'"{word}"'.encode() for word in words])]


def frames_of_call(rows: Rows, session: str | None, tool_call: str, span: Span) -> Iterator[int]:
    """Yields the frame numbers of the updates and requests about a tool call, except batches.

    Args:
        rows: the recording.
        session: the session of the tool call.
        tool_call: the id of the tool call.
        span: the first and the last frame number to consider.
    """
    sql = (
        "SELECT seq FROM frames WHERE tool_call = ? AND session IS ? AND seq BETWEEN ? AND ?"
        " AND kind IN ('notification', 'request') ORDER BY seq"
    )
    return (row["seq"] for row in rows.query(sql, (tool_call, session, *span)))


def frames_of_terminal(rows: Rows, session: str | None, terminal: str, first: int) -> Iterator[int]:
    """Yields the numbers of the frames about a terminal, including its creation.

    The frames end where another terminal with the same id is created.

    Args:
        rows: the recording.
        session: the session of the terminal.
        terminal: the id of the terminal.
        first: the first frame number to consider.
    """
    # "+" keeps SQLite from using the index of methods, which would make it read all terminals.
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
