"""Splits a batch into messages; each message gets the columns of a frame.

The columns of a batch contain only values that all its messages share. The exchange of a message is
found by the direction and the id of the message. The session is in the message or in the exchange.
The turn is found by the session.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from acp_proxy.protocol.jsonrpc import Direction, Kind, Message, read
from acp_proxy.store.tables.checked_values import Row

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
    """Returns the messages of a batch in order. Invalid messages raise no error.

    Args:
        batch: a row of `frames` of kind batch, with at least ``seq``, ``stream`` and ``raw``.
        query: runs a SELECT over the recording.

    Returns:
        For each message, a copy of the batch's row with the columns of the message and of its
        exchange. Column ``member`` has the message's index. The list is empty if the batch is too
        large to read.
    """
    messages = read(bytes(batch["raw"])).members
    if not messages:
        return []
    seq = batch["seq"]
    exchanges = _Exchanges(batch, query)
    begun: dict[str | None, deque[int]] = {}
    latest: dict[str, int | None] = {}
    """The number of each session's open turn. ``begun`` has turns that begin in the batch."""
    rows = []
    for place, message in enumerate(messages):
        row = _member(batch, place, message)
        exchanges.join(row)
        session = row["session"]
        if row["kind"] == "request" and row["method"] == "session/prompt":
            if session not in begun:
                begun[session] = deque(turn["id"] for turn in query(_BEGUN, (seq, session)))
            row["turn"] = begun[session].popleft() if begun[session] else None
        elif session is not None:
            if session not in latest:
                opened = query(_OPEN, (session, seq, seq))
                latest[session] = next((turn["id"] for turn in opened), None)
            row["turn"] = latest[session]
        rows.append(row)
    return rows


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


class _Exchanges:
    """The exchanges of a batch. Each exchange belongs to one message of the batch.

    Args:
        batch: the batch.
        query: runs a SELECT over the recording.
    """

    def __init__(self, batch: Row, query: _Query) -> None:
        self._query = query
        self._left: dict[tuple[str | None, str | None], deque[Row]] = {}
        """The exchanges that no message was paired with yet, by direction and id token."""
        self._asked: dict[int, Row | None] = {}
        self._in_batch: dict[int, dict[str | None, Message]] = {}
        """The requests of other batches by id; the first request if several have the same id."""
        seq = batch["seq"]
        for exchange in query(_EXCHANGES, (seq, seq)):
            asks = exchange["direction"] == batch["stream"]
            if exchange["request_seq" if asks else "response_seq"] == seq:
                key = exchange["direction"], exchange["rpc_id"]
                self._left.setdefault(key, deque()).append(exchange)

    def join(self, row: Row) -> None:
        """Adds the columns of a message's exchange to the message, if it has an exchange."""
        if row["kind"] not in (Kind.REQUEST, Kind.RESPONSE, Kind.ERROR):
            return
        asks = row["kind"] == Kind.REQUEST
        direction = Direction(row["stream"]) if asks else Direction(row["stream"]).other
        if not (same_id := self._left.get((direction.value, row["rpc_id"]))):
            return
        exchange = same_id.popleft()
        row["exchange"] = exchange["id"]
        row["method"] = exchange["method"]
        row["session"] = row["session"] or exchange["session"]
        for name in ("request_seq", "response_seq", "latency_ns"):
            row[name] = exchange[name]
        if not asks and (asked := self._request(exchange["request_seq"])) is not None:
            tool_call, terminal = self._names(asked, exchange)
            row["tool_call"] = row["tool_call"] or tool_call
            row["terminal"] = row["terminal"] or terminal

    def _request(self, seq: int) -> Row | None:
        if seq not in self._asked:
            self._asked[seq] = next(self._query(_REQUEST, (seq,)), None)
        return self._asked[seq]

    def _names(self, request: Row, exchange: Row) -> tuple[str | None, str | None]:
        """Returns tool call and terminal of a request; the request may be in another batch."""
        if request["kind"] != Kind.BATCH:
            return request["tool_call"], request["terminal"]
        if (seq := request["seq"]) not in self._in_batch:
            members = read(bytes(request["raw"])).members
            requests = (member for member in reversed(members) if member.kind is Kind.REQUEST)
            self._in_batch[seq] = {member.rpc_id: member for member in requests}
        message = self._in_batch[seq].get(exchange["rpc_id"])
        return (None, None) if message is None else (message.tool_call, message.terminal)
