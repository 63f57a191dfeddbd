"""The messages of a batch, each with the columns that a frame of its own would have.

The columns of the batch hold only what all of its messages share. What each message belongs to
follows from its text, its exchange and the turns of its session.
"""

from collections.abc import Callable, Iterator
from typing import Any

from acp_proxy.protocol.jsonrpc import Kind, Message, read
from acp_proxy.protocol.peers import Direction
from acp_proxy.store.checked_values import Row

_Query = Callable[[str, tuple[Any, ...]], Iterator[Row]]

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


def members_of(batch: Row, query: _Query) -> list[Row]:
    """Returns the messages of a batch in their order; never raises for their content.

    Args:
        batch: a row of `frames`, of kind batch; at least its ``seq``, ``stream`` and ``raw``.
        query: runs a SELECT over the recording.

    Returns:
        For each message a copy of the row with the columns of the message and of its exchange, and
        with ``member``, its place in the batch from 0 on. Empty if the batch was too large to read.
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
        session = row["session"]
        if row["kind"] == "request" and row["method"] == "session/prompt":
            if session not in begun:
                begun[session] = [turn["id"] for turn in query(_BEGUN, (seq, session))]
            row["turn"] = begun[session].pop(0) if begun[session] else None
        elif session is not None:
            row["turn"] = next((turn["id"] for turn in query(_OPEN, (session, seq, seq))), None)
        found.append(row)
    return found


def _member(batch: Row, place: int, message: Message) -> Row:
    raw = message.raw or b""
    unknown = ("exchange", "turn", "request_seq", "response_seq", "latency_ns")
    return {
        **batch,
        **dict.fromkeys(unknown),
        "kind": message.kind.value,
        "method": message.method,
        "rpc_id": message.rpc_id,
        "session": message.session,
        "tool_call": message.tool_call,
        "terminal": message.terminal,
        "size": len(raw),
        "raw": raw,
        "parse_error": message.parse_error,
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


def _join(row: Row, exchange: Row, query: _Query) -> None:
    """Adds to a message what is known from its exchange."""
    row["exchange"] = exchange["id"]
    row["method"] = exchange["method"]
    row["session"] = row["session"] or exchange["session"]
    for name in ("request_seq", "response_seq", "latency_ns"):
        row[name] = exchange[name]
    if row["kind"] != Kind.REQUEST and exchange["request_seq"] != row["seq"]:
        for asked in query(_REQUEST, (exchange["request_seq"],)):
            tool_call, terminal = _names(asked, exchange)
            row["tool_call"] = row["tool_call"] or tool_call
            row["terminal"] = row["terminal"] or terminal


def _names(request: Row, exchange: Row) -> tuple[str | None, str | None]:
    """The tool call and the terminal that a request names; it may be in a batch, too."""
    if request["kind"] != Kind.BATCH:
        return request["tool_call"], request["terminal"]
    for message in read(bytes(request["raw"])).members:
        if message.kind is Kind.REQUEST and message.rpc_id == exchange["rpc_id"]:
            return message.tool_call, message.terminal
    return None, None
