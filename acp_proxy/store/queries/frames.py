"""Functions that query the frames of a recording.

Each function reads an open recording, and raises `UnreadableRecording` if the file is damaged or
locked.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

from acp_proxy.base.limits import LINE_EDGE
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.recording.recording import StoredFrame
from acp_proxy.store.rows import Rows
from acp_proxy.store.tables.checked_values import Row

Span = tuple[int, int]
"""The first and the last number of some consecutive frames."""
FRAME = "seq, t_ns, stream, kind, method, exchange, session, turn, tool_call, terminal, size"
"""The columns of a `StoredFrame` without its line."""


def last_frame(rows: Rows) -> int:
    """Returns the number of the last frame; 0 if there is none."""
    return _last(rows, "seq", "frames")


def last_number(rows: Rows) -> int:
    """Returns the number of the last frame or event; 0 if there is none."""
    return max(last_frame(rows), _last(rows, "seq", "events"))


def last_ns(rows: Rows) -> int:
    """Returns the time of the last frame or event, in nanoseconds since the start."""
    return max(0, _last(rows, "t_ns", "frames"), _last(rows, "t_ns", "events"))


def gaps(rows: Rows, least_ns: int) -> Iterator[tuple[int, int, int]]:
    """Yields the pauses between neighbouring frames or events, in order.

    A tuple has the number of the row before the pause, the number of the row after the pause, and
    the length of the pause in nanoseconds. A pause ends at the first byte of the later row.

    Args:
        rows: the recording.
        least_ns: the length of the shortest pause.
    """
    sql = (
        "SELECT before, seq, ns FROM (SELECT seq, lag(seq) OVER w AS before,"
        " t_ns - lag_ns - lag(t_ns) OVER w AS ns FROM (SELECT seq, t_ns, lag_ns FROM frame_rows"
        " UNION ALL SELECT seq, t_ns, 0 FROM events) WINDOW w AS (ORDER BY seq))"
        " WHERE before = seq - 1 AND ns >= ?"
    )
    return ((row["before"], row["seq"], row["ns"]) for row in rows.query(sql, (least_ns,)))


def first_prompt(rows: Rows, most: int) -> bytes | None:
    """Returns the first bytes of the first ``session/prompt`` request; None if there is none.

    Args:
        rows: the recording.
        most: the largest number of bytes.
    """
    sql = (
        "SELECT substr(raw, 1, ?) AS raw FROM frames"
        " WHERE seq = (SELECT min(prompt_seq) FROM turns)"
    )
    return next((bytes(row["raw"]) for row in rows.query(sql, (most,))), None)


def conversation_start(rows: Rows, largest: int) -> Iterator[tuple[str, bytes]]:
    """Yields the stream and the line of each request and response up to the first prompt.

    Args:
        rows: the recording.
        largest: a size in bytes; only the first 64 KiB of a larger line are read.
    """
    sql = (
        f"SELECT stream, CASE WHEN size <= ? THEN raw ELSE substr(raw, 1, {LINE_EDGE}) END AS raw"
        " FROM frames WHERE stream IS NOT NULL AND kind IN ('request', 'response', 'batch')"
        " AND seq <= (SELECT min(prompt_seq) FROM turns) ORDER BY seq"
    )
    return ((row["stream"], row["raw"]) for row in rows.query(sql, (largest,)))


def frames_with(rows: Rows, text: bytes) -> Iterator[int]:
    """Yields, in order, the numbers of the frames whose lines, after masking, contain a text.

    Args:
        rows: the recording.
        text: the text, as its bytes in a line.
    """
    sql = "SELECT seq FROM frames WHERE instr(raw, ?) ORDER BY seq"
    return (row["seq"] for row in rows.query(sql, (text,)))


def masked_frames(rows: Rows) -> Iterator[Row]:
    """Yields the frames in which a value was masked, in order."""
    sql = "SELECT seq, stream, kind, size, raw FROM frames WHERE masked = 1 ORDER BY seq"
    return rows.query(sql)


def frames_by_number(rows: Rows, seqs: Sequence[int], whole: int, batch: int) -> Iterator[Row]:
    """Yields frames in order, with at most the first 64 KiB of a large line.

    Args:
        rows: the recording.
        seqs: the numbers of the frames.
        whole: a size in bytes; of a larger line, only the first 64 KiB are read.
        batch: a size in bytes that takes the place of ``whole`` for batches.
    """
    sql = (
        "SELECT seq, t_ns, stream, kind, method, exchange, session, turn, tool_call,"
        " CASE WHEN length(raw) <= CASE kind WHEN 'batch' THEN ? ELSE ? END"
        f" THEN raw ELSE substr(raw, 1, {LINE_EDGE}) END AS raw"
        " FROM frames WHERE seq IN (SELECT value FROM json_each(?)) ORDER BY seq"
    )
    return rows.query(sql, (batch, whole, json.dumps(seqs)))


def start_of_line(rows: Rows, seq: int, most: int) -> tuple[str, bytes] | None:
    """Returns the kind of a frame and the first bytes of its line; None without such a frame.

    Args:
        rows: the recording.
        seq: the number of the frame.
        most: the largest number of bytes.
    """
    sql = "SELECT kind, substr(raw, 1, ?) AS raw FROM frames WHERE seq = ?"
    matches = rows.query(sql, (most, seq))
    return next(((row["kind"], bytes(row["raw"])) for row in matches), None)


def frame_times(rows: Rows, seqs: Iterable[int]) -> dict[int, int]:
    """Returns the times of frames in nanoseconds, by the numbers of the frames.

    Args:
        rows: the recording.
        seqs: the numbers of the frames.
    """
    sql = "SELECT seq, t_ns FROM frame_rows WHERE seq IN (SELECT value FROM json_each(?))"
    return {row["seq"]: row["t_ns"] for row in rows.query(sql, (json.dumps([*seqs]),))}


def labels_of_frames(rows: Rows, seqs: Iterable[int]) -> Iterator[Row]:
    """Yields the method, session and turn of each frame; for an answer, the labels of its request.

    Args:
        rows: the recording.
        seqs: the numbers of the frames.
    """
    sql = (
        "SELECT f.seq, coalesce(f.method, e.method) AS method,"
        " coalesce(f.session, e.session) AS session, f.turn"
        " FROM frames AS f LEFT JOIN exchanges AS e ON e.id = f.exchange"
        " WHERE f.seq IN (SELECT value FROM json_each(?))"
    )
    return rows.query(sql, (json.dumps([*seqs]),))


def parse_error_of(rows: Rows, seq: int) -> str | None:
    """Returns the reason why a frame is not a message; None if the frame is a message.

    Args:
        rows: the recording.
        seq: the number of the frame.
    """
    matches = rows.query("SELECT parse_error FROM frames WHERE seq = ?", (seq,))
    return next((row["parse_error"] for row in matches), None)


def last_stderr_lines(
    rows: Rows, most: int, size: int, among: Sequence[int] | None = None
) -> list[bytes]:
    """Returns the last lines on stderr, in order.

    Args:
        rows: the recording.
        most: the largest number of lines.
        size: the size in bytes to which longer lines are cut.
        among: the numbers of the lines to consider, in order; None for all lines.
    """
    start = f"CASE WHEN length(raw) > {size} THEN substr(raw, 1, {size}) ELSE raw END"
    chosen = "kind = 'stderr'" if among is None else "seq IN (SELECT value FROM json_each(?))"
    sql = f"SELECT {start} AS raw FROM frames WHERE {chosen} ORDER BY seq DESC LIMIT {most}"
    values = () if among is None else (json.dumps(among[-most:]),)
    return [bytes(row["raw"]) for row in rows.query(sql, values)][::-1]


def frames_of_kind(rows: Rows, kind: str) -> list[int]:
    """Returns the numbers of all frames of a kind, in order.

    Args:
        rows: the recording.
        kind: the kind, such as ``stderr``. The query is fast if no frame has this kind.
    """
    if not rows.first_of_kind(kind):  # uses an index; most recordings have none
        return []
    sql = "SELECT seq FROM frames WHERE kind = ? ORDER BY seq"
    return [row["seq"] for row in rows.query(sql, (kind,))]


def stderr_lines_with(rows: Rows, text: bytes, most: int = 1_000) -> list[int]:
    """Returns the numbers of lines on stderr that are JSON and contain a text.

    Args:
        rows: the recording.
        text: the text.
        most: the largest number of lines.
    """
    if not rows.first_of_kind("stderr"):
        return []
    sql = (
        "SELECT seq FROM frames WHERE kind = 'stderr' AND instr(raw, ?)"
        f" AND json_valid(CAST(raw AS TEXT)) ORDER BY seq LIMIT {most}"
    )
    return [row["seq"] for row in rows.query(sql, (text,))]


def updates_with(rows: Rows, text: bytes, spans: Iterable[Span], most: int) -> Iterator[int]:
    """Yields the numbers of the agent's updates that contain a text, in some ranges of frames.

    Args:
        rows: the recording.
        text: the text.
        spans: the first and the last frame number of each range.
        most: the largest size of an update, in bytes.
    """
    # SQLite checks the conditions in this order, and few lines contain the text. The plus sign
    # prevents the use of the index of methods, which would find all updates.
    sql = (
        "SELECT seq FROM frames WHERE seq BETWEEN ? AND ? AND size <= ? AND instr(raw, ?)"
        " AND stream = 'to-client' AND +method = 'session/update'"
    )
    return (row["seq"] for span in spans for row in rows.query(sql, (*span, most, text)))


def stray_errors(rows: Rows, most: int) -> list[int]:
    """Returns the frame numbers of the first errors that answer no recorded request.

    Args:
        rows: the recording.
        most: the largest number of errors.
    """
    sql = (
        "SELECT seq FROM frames WHERE kind = 'error' AND exchange IS NULL ORDER BY seq"
        f" LIMIT {most}"
    )
    return [row["seq"] for row in rows.query(sql)]


def unterminated_frames(rows: Rows) -> list[tuple[int, str]]:
    """Returns number and stream of each direction's last frame if the frame has no newline."""
    sql = "SELECT seq, stream, newline FROM frames WHERE stream = ? ORDER BY seq DESC LIMIT 1"
    last = (row for direction in Direction for row in rows.query(sql, (direction.value,)))
    return [(row["seq"], row["stream"]) for row in last if not row["newline"]]


def number_after(rows: Rows, count: int) -> int | None:
    """Skips the first ``count`` frames of the peers; returns the next frame's number, or None.

    Args:
        rows: the recording.
        count: how many frames to skip.
    """
    sql = "SELECT seq FROM frames WHERE stream != 'stderr' ORDER BY seq LIMIT 1 OFFSET ?"
    return next((row["seq"] for row in rows.query(sql, (count,))), None)


def labels_of(rows: Rows, column: str) -> list[str]:
    """Returns the distinct texts in a column of the frames; reads every frame.

    Args:
        rows: the recording.
        column: ``method``, ``session``, ``tool_call`` or ``terminal``.
    """
    every = rows.tables[0].every
    sql = f"SELECT text FROM {every} WHERE id IN (SELECT {column} FROM frame_rows) ORDER BY id"
    return [row["text"] for row in rows.query(sql)]


def first_message(rows: Rows, stream: str, after: int = 0) -> StoredFrame | None:
    """Returns the first message of a stream; None if there is none.

    Args:
        rows: the recording.
        stream: ``to-agent``, ``to-client`` or ``stderr``.
        after: only messages with a higher number.
    """
    sql = (
        f"SELECT {FRAME} FROM frames WHERE stream = ? AND seq > ?"
        " AND kind NOT IN ('invalid', 'blank') ORDER BY seq LIMIT 1"
    )
    return next((StoredFrame(*row.values()) for row in rows.query(sql, (stream, after))), None)


def frames_before(rows: Rows, stream: str, seq: int, most: int) -> Iterator[StoredFrame]:
    """Yields the frames of a stream before a number, the latest first.

    Args:
        rows: the recording.
        stream: ``to-agent``, ``to-client`` or ``stderr``.
        seq: the number; only frames with a lower number are yielded.
        most: the largest number of frames.
    """
    sql = f"SELECT {FRAME} FROM frames WHERE stream = ? AND seq < ? ORDER BY seq DESC LIMIT {most}"
    return (StoredFrame(*row.values()) for row in rows.query(sql, (stream, seq)))


def _last(rows: Rows, column: str, table: str) -> int:
    """Returns the value of a column in the last row of a table; 0 if the table is empty."""
    last = rows.query(f"SELECT {column} FROM {table} ORDER BY seq DESC LIMIT 1")
    return int(next(last, {column: 0})[column])
