"""Reads the updates that an agent streams as tuples, and all other rows as `Rows.rows` does.

Nearly all frames of a large recording are such updates, and differ from each other in little. As
tuples they take a third of the time.
"""

from collections.abc import Iterator
from typing import NamedTuple

from acp_proxy.protocol.jsonrpc import Kind
from acp_proxy.protocol.peers import Stream
from acp_proxy.protocol.updates import UPDATE
from acp_proxy.store.checked_values import Mistyped, Row
from acp_proxy.store.frame_table import FrameTable
from acp_proxy.store.schema import (
    DELIVERED_CODES,
    KIND_CODES,
    MASKED,
    NEWLINE_CODES,
    STREAM_CODES,
)
from acp_proxy.store.where import Where

LARGEST = 64 << 10
"""Bytes of the largest line of a plain update."""
_FLAGS = STREAM_CODES[Stream.TO_CLIENT] | NEWLINE_CODES[b"\n"] << 2 | DELIVERED_CODES["full"] << 4
_PLAIN = (
    f"f.kind = {KIND_CODES[Kind.NOTIFICATION]} AND f.flags & {MASKED - 1} = {_FLAGS}"
    " AND f.tool_call IS NULL AND f.terminal IS NULL AND f.exchange IS NULL AND f.fault IS NULL"
    " AND f.rpc_id IS NULL AND f.parse_error IS NULL AND +f.method = {label}"
    f" AND {{size}} <= {LARGEST}"
)


class PlainUpdate(NamedTuple):
    """A session update of the agent, delivered as it is, about no tool call and no terminal."""

    seq: int
    t_ns: int
    lag_ns: int
    """How long it took from its first byte to its last one."""
    session: str | None
    turn: int | None
    size: int
    masked: int
    """Whether something in it is masked."""
    raw: bytes

    def row(self) -> Row:
        """Returns the same as a row of `Rows.frames`."""
        return {
            "seq": self.seq,
            "channel": "acp",
            "stream": Stream.TO_CLIENT.value,
            "t_ns": self.t_ns,
            "t_first_ns": self.t_ns - self.lag_ns,
            "kind": Kind.NOTIFICATION.value,
            "method": UPDATE,
            "rpc_id": None,
            "exchange": None,
            "session": self.session,
            "turn": self.turn,
            "tool_call": None,
            "terminal": None,
            "size": self.size,
            "raw": self.raw,
            "newline": "\n",
            "parse_error": None,
            "delivered": "full",
            "fault": None,
            "masked": self.masked,
            "rowid": self.seq,
            "request_seq": None,
            "response_seq": None,
            "latency_ns": None,
            "answer_session": None,
            "answer_terminal": None,
        }


def plain_updates(table: FrameTable) -> Iterator[PlainUpdate]:
    """Yields the plain updates of a table in order.

    Args:
        table: the table.

    Raises:
        sqlite3.Error, Mistyped: the file is damaged.
    """
    lines = table.lines
    sql = (
        f"SELECT f.seq, f.t_ns, f.lag_ns, f.session, f.turn, {lines.size}, {lines.masked},"
        f" {lines.line} FROM {table.rows} AS f WHERE {_condition(table)} ORDER BY f.seq"
    )
    texts = table.texts()
    for seq, t_ns, lag_ns, session, turn, size, masked, raw in table.connection.execute(sql):
        if type(t_ns) is not int or type(lag_ns) is not int or type(raw) is not bytes:
            raise Mistyped(f"frame {seq} has no time or no bytes")
        if turn is not None and type(turn) is not int:
            raise Mistyped(f"turn is {type(turn).__name__}")
        try:
            values = seq, t_ns, lag_ns, texts[session], turn, size, masked, raw
        except (KeyError, TypeError):
            raise Mistyped(f"frame {seq} has an unknown code") from None
        yield tuple.__new__(PlainUpdate, values)  # in half the time


def other_frames(table: FrameTable) -> Iterator[Row]:
    """Yields all frames of a table that are no plain updates, in order, as `FrameTable.frames`.

    Args:
        table: the table.

    Raises:
        sqlite3.Error, Mistyped: the file is damaged.
    """
    return table.frames_where(Where(f"({_condition(table)}) IS NOT TRUE"))


def _condition(table: FrameTable) -> str:
    """SQL for whether a row is a plain update."""
    found = table.connection.execute(
        f"SELECT id FROM {table.labels} WHERE text = ?", (UPDATE,)
    ).fetchone()
    return _PLAIN.format(label="NULL" if found is None else f"{found[0]:d}", size=table.lines.size)
