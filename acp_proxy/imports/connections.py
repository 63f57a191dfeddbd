"""Divides the messages of a log into connections, and infers directions that the log lacks.

Most methods are sent by one peer only. An answer goes to the peer that has an open request with the
answer's id. If both peers have an open request with this id, the members of the result may decide.
"""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from acp_proxy.imports.log_entries import Entry, Facts, LoggedLine, Remark, UnreadLines
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.protocol.jsonrpc import Stream

_TO_AGENT, _TO_CLIENT = Stream.TO_AGENT, Stream.TO_CLIENT
TO_CLIENT_METHODS = (
    "session/update", "session/request_permission", "fs/", "terminal/", "elicitation/",
    "mcp/connect", "mcp/disconnect", "auth/status_update",
)  # fmt: skip
"""Methods that agents send. A name that ends in a slash stands for all methods with this prefix."""
TO_AGENT_METHODS = (
    "initialize", "_proxy/initialize", "proxy/initialize", "authenticate", "logout", "auth/",
    "session/", "providers/", "nes/", "document/",
)  # fmt: skip
"""Methods that clients send, except those in `TO_CLIENT_METHODS`."""
_TO_AGENT_RESULTS = {
    "outcome", "content", "terminalId", "output", "exitStatus", "exitCode", "action", "truncated",
}  # fmt: skip
"""Members of results that come from a client and not from an agent."""
_SURE = {
    "session/prompt": "stopReason",
    "session/new": "sessionId",
    "initialize": "protocolVersion",
}
"""For some methods: the member that every result of the method has."""
_MOST_OPEN = 10_000
_LONGEST_ID = 100
"""The longest id, in characters, that is used as a key. The hash of a longer id is used instead."""


def direction_of_method(method: str) -> Stream | None:
    """Returns the direction of a method; None for an unknown method, or if both peers send it."""
    for names, stream in ((TO_CLIENT_METHODS, _TO_CLIENT), (TO_AGENT_METHODS, _TO_AGENT)):
        for name in names:
            if method == name or (name.endswith("/") and method.startswith(name)):
                return stream
    return None


def guessed(message: Any) -> Stream:
    """Guesses the direction of a message if nothing shows its direction.

    A notification is probably from the agent, and a request from the client. The direction of an
    answer is guessed from the members of its result.

    Args:
        message: parsed JSON.
    """
    first = _first(message)
    if isinstance(first.get("method"), str):
        return _TO_CLIENT if first.get("id") is None else _TO_AGENT
    result = first.get("result")
    names = set(result) if isinstance(result, dict) else set()
    return _TO_AGENT if names & _TO_AGENT_RESULTS and "stopReason" not in names else _TO_CLIENT


class DirectionFinder:
    """Infers the directions of the messages of one connection, in order."""

    def __init__(self) -> None:
        self._open: dict[Stream, dict[str, str]] = {_TO_AGENT: {}, _TO_CLIENT: {}}
        """The methods of open requests: by direction, then by id."""

    def find(self, message: Any) -> Stream | None:
        """Infers the direction of the next message; None if nothing shows the direction.

        Args:
            message: parsed JSON.
        """
        first = _first(message)
        if isinstance(method := first.get("method"), str):
            if method != "$/cancel_request":
                return direction_of_method(method)
            params = first.get("params")
            asked = self._asked(params.get("requestId") if isinstance(params, dict) else None)
            return asked[0] if len(asked) == 1 else None
        asked = self._asked(first.get("id"))
        if len(asked) == 1:
            return _opposite(asked[0])
        result, key = first.get("result"), _key(first.get("id"))
        if not asked or (member := _SURE.get(self._open[_TO_AGENT][key])) is None:
            return None
        if "result" not in first:
            return None
        return _TO_CLIENT if isinstance(result, dict) and member in result else _TO_AGENT

    def _asked(self, request_id: Any) -> list[Stream]:
        key = _key(request_id)
        return [stream for stream, opened in self._open.items() if key in opened]

    def note(self, message: Any, stream: Stream) -> None:
        """Records which requests the next message opens or answers.

        Args:
            message: the message, as parsed JSON.
            stream: the direction of the message.
        """
        for item in message if isinstance(message, list) else [message]:
            if not isinstance(item, dict) or item.get("id") is None or stream not in self._open:
                continue
            key = _key(item["id"])
            if isinstance(item.get("method"), str):
                opened = self._open[stream]
                opened[key] = item["method"]
                if len(opened) > _MOST_OPEN:
                    del opened[next(iter(opened))]
            else:
                self._open[_opposite(stream)].pop(key, None)


def _first(message: Any) -> dict[str, Any]:
    first = next(iter(message), None) if isinstance(message, list) else message
    return first if isinstance(first, dict) else {}


def _key(request_id: Any) -> str:
    """Returns a key for a request's id, which may be any JSON value of any size."""
    text = repr(request_id)
    return text if len(text) <= _LONGEST_ID else sha256(text.encode("utf-8", "replace")).hexdigest()


def _opposite(stream: Stream) -> Stream:
    return _TO_CLIENT if stream is _TO_AGENT else _TO_AGENT


_UNKNOWN = "expected > (to the agent) or < (to the client) before the message: neither its method"
_UNKNOWN += " nor its id shows which way it went"


class ConnectionBegins(NamedTuple):
    """A mark between entries: the client starts another agent, so another connection begins."""


class Sent(NamedTuple):
    """A message with its direction, or a line of stderr."""

    line: LoggedLine
    stream: Stream
    begins: bool
    """Whether the message is the client's ``initialize`` request."""


Happened = Sent | ConnectionBegins | Remark | UnreadLines | Facts


def connections(entries: Iterable[Entry], *, guesses: bool = False) -> Iterator[Happened]:
    """Yields a log's entries, each with its direction, and a mark where a new connection begins.

    A connection begins with ``initialize``, which a client sends once in each connection.

    Args:
        entries: the entries from the reader of the log.
        guesses: whether to guess directions that cannot be inferred. If not, a message without a
            direction becomes `UnreadLines`.
    """
    finder = DirectionFinder()
    has_messages = False
    for entry in entries:
        if not isinstance(entry, LoggedLine):
            yield entry
            continue
        if entry.stream is Stream.STDERR:
            yield Sent(entry, Stream.STDERR, begins=False)
            continue
        value = json_or_none(entry.raw)
        begins = _introduces(value) and entry.stream in (None, Stream.TO_AGENT)
        if begins and has_messages:
            finder = DirectionFinder()
            yield ConnectionBegins()
        stream = entry.stream or finder.find(value) or (guessed(value) if guesses else None)
        if stream is None:
            yield UnreadLines(entry.first, entry.last, _UNKNOWN)
            continue
        finder.note(value, stream)
        has_messages = True
        is_inferred = entry.is_inferred or entry.stream is None
        yield Sent(entry._replace(is_inferred=is_inferred), stream, begins)


def _introduces(value: Any) -> bool:
    return isinstance(value, dict) and value.get("method") == "initialize" and "id" in value
