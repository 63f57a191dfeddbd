"""The messages of a batch, each with what a frame of its own would have.

A batch is one frame, and its columns hold only what all of its messages share. What each message
belongs to is known from its text, its exchange and the turns of its session.
"""

from collections.abc import Callable, Iterator
from typing import Any

from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.peers import Direction

Row = dict[str, Any]
Query = Callable[[str, tuple[Any, ...]], Iterator[Row]]
"""Runs a SELECT over the names of the contract."""

_EXCHANGES = (
    "SELECT id, direction, method, rpc_id, session, request_seq, response_seq, latency_ns"
    " FROM exchanges WHERE request_seq = ? OR response_seq = ? ORDER BY id"
)
_BEGUN = "SELECT id FROM turns WHERE prompt_seq = ? AND session IS ? ORDER BY id"
_OPEN = (
    "SELECT id FROM turns WHERE session = ? AND prompt_seq <= ?"
    " AND (end_seq IS NULL OR end_seq >= ?) ORDER BY id DESC LIMIT 1"
)
_REQUEST = "SELECT seq, stream, kind, tool_call, terminal, raw FROM frames WHERE seq = ?"


def members_of(batch: Row, query: Query) -> list[Row]:
    """Returns the messages of a batch in their order; never raises for their content.

    Args:
        batch: a row of `frames`, of kind batch; at least its ``seq``, ``stream`` and ``raw``.
        query: of the recording.

    Returns:
        a copy of the row for each message, with the message's own ``kind``, ``method``, ``rpc_id``,
        ``exchange``, ``session``, ``turn``, ``tool_call``, ``terminal``, ``size``, ``raw`` and
        ``parse_error``, the ``request_seq``, ``response_seq`` and ``latency_ns`` of its exchange,
        and ``member``, its place in the batch from 0 on. Empty for an empty batch, and for one that
        was too large to be looked into.
    """
    messages = read(bytes(batch["raw"])).members
    if not messages:
        return []
    seq = batch["seq"]
    exchanges = list(query(_EXCHANGES, (seq, seq)))
    begun: dict[str | None, list[int]] = {}
    found = []
    for place, message in enumerate(messages):
        row = _member(batch, place, message)
        if (exchange := _taken(exchanges, row)) is not None:
            _join(row, exchange, query)
        if row["kind"] == "request" and row["method"] == "session/prompt":
            session = row["session"]
            if session not in begun:
                begun[session] = [turn["id"] for turn in query(_BEGUN, (seq, session))]
            row["turn"] = begun[session].pop(0) if begun[session] else None
        elif row["session"] is not None:
            row["turn"] = next((t["id"] for t in query(_OPEN, (row["session"], seq, seq))), None)
        found.append(row)
    return found


def _member(batch: Row, place: int, message: Message) -> Row:
    raw = message.raw or b""
    return {
        **batch,
        "kind": message.kind.value,
        "method": message.method,
        "rpc_id": message.rpc_id,
        "exchange": None,
        "session": message.session,
        "turn": None,
        "tool_call": message.tool_call,
        "terminal": message.terminal,
        "size": len(raw),
        "raw": raw,
        "parse_error": message.parse_error,
        "request_seq": None,
        "response_seq": None,
        "latency_ns": None,
        "member": place,
    }


def _taken(exchanges: list[Row], row: Row) -> Row | None:
    """Takes the exchange of a message out of those that its batch is part of."""
    if row["kind"] not in (Kind.REQUEST, Kind.RESPONSE, Kind.ERROR):
        return None
    asks = row["kind"] == Kind.REQUEST
    direction = Direction(row["stream"]) if asks else Direction(row["stream"]).other
    wanted = (direction.value, row["rpc_id"], row["seq"])
    seq = "request_seq" if asks else "response_seq"
    for place, exchange in enumerate(exchanges):
        if (exchange["direction"], exchange["rpc_id"], exchange[seq]) == wanted:
            return exchanges.pop(place)
    return None


def _join(row: Row, exchange: Row, query: Query) -> None:
    """Adds to a message what is known from its exchange."""
    row["exchange"] = exchange["id"]
    row["method"] = exchange["method"]
    row["session"] = row["session"] or exchange["session"]
    for name in ("request_seq", "response_seq", "latency_ns"):
        row[name] = exchange[name]
    if row["kind"] != Kind.REQUEST and exchange["request_seq"] != row["seq"]:
        for asked in query(_REQUEST, (exchange["request_seq"],)):
            request = _request(asked, exchange)
            row["tool_call"] = row["tool_call"] or request["tool_call"]
            row["terminal"] = row["terminal"] or request["terminal"]


def _request(row: Row, exchange: Row) -> Row:
    """The request that an exchange began with; it may be in a batch, too."""
    if row["kind"] != Kind.BATCH:
        return row
    for message in read(bytes(row["raw"])).members:
        if message.kind is Kind.REQUEST and message.rpc_id == exchange["rpc_id"]:
            return {"tool_call": message.tool_call, "terminal": message.terminal}
    return {"tool_call": None, "terminal": None}
