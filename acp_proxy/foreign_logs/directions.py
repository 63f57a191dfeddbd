"""Infers which way a message went, where a log does not say it.

A method tells who sends it; an answer goes back to who asked with its id. Where both peers have an
open request with the same id, or none has, the members of the result decide.
"""

from hashlib import sha256
from typing import Any

from acp_proxy.protocol.peers import Stream

_TO_AGENT, _TO_CLIENT = Stream.TO_AGENT, Stream.TO_CLIENT
TO_CLIENT_METHODS = (
    "session/update", "session/request_permission", "fs/", "terminal/", "elicitation/",
    "mcp/connect", "mcp/disconnect", "auth/status_update",
)  # fmt: skip
"""Methods of the agent; one that ends in a slash stands for all that begin with it."""
TO_AGENT_METHODS = (
    "initialize", "_proxy/initialize", "proxy/initialize", "authenticate", "logout", "auth/",
    "session/", "providers/", "nes/", "document/",
)  # fmt: skip
"""Methods of the client, apart from those above."""
_TO_AGENT_RESULTS = {
    "outcome", "content", "terminalId", "output", "exitStatus", "exitCode", "action", "truncated",
}  # fmt: skip
"""Members of results of the client."""
_SURE = {
    "session/prompt": "stopReason",
    "session/new": "sessionId",
    "initialize": "protocolVersion",
}
"""The member that every result of a method has."""
_MOST_OPEN = 10_000
_LONGEST_ID = 100
"""Characters of an id that is kept as it is."""


def direction_of_method(method: str) -> Stream | None:
    """Returns who is asked by a method of the protocol; None if both are, or it is unknown."""
    for names, stream in ((TO_CLIENT_METHODS, _TO_CLIENT), (TO_AGENT_METHODS, _TO_AGENT)):
        for name in names:
            if method == name or (name.endswith("/") and method.startswith(name)):
                return stream
    return None


def direction_of_result(result: Any) -> Stream:
    """Returns which way an answer is likely to go, by what it says."""
    names = set(result) if isinstance(result, dict) else set()
    return _TO_AGENT if names & _TO_AGENT_RESULTS and "stopReason" not in names else _TO_CLIENT


class DirectionFinder:
    """Infers the directions of the messages of one connection, in their order."""

    def __init__(self) -> None:
        self._open: dict[Stream, dict[str, str]] = {_TO_AGENT: {}, _TO_CLIENT: {}}
        """The methods of open requests by their ids, by the direction of the request."""
        self._latest = _TO_CLIENT
        """The direction of the latest request."""

    def find(self, message: Any) -> Stream:
        """Returns the direction of the next message, and keeps what it opens or answers.

        Args:
            message: parsed JSON.
        """
        stream = self._inferred(message)
        self.note(message, stream)
        return stream

    def note(self, message: Any, stream: Stream) -> None:
        """Keeps what the next message opens or answers; its direction is known.

        Args:
            message: parsed JSON.
            stream: its direction.
        """
        for one in message if isinstance(message, list) else [message]:
            if not isinstance(one, dict) or one.get("id") is None or stream not in self._open:
                continue
            key = _key(one["id"])
            if isinstance(one.get("method"), str):
                opened = self._open[stream]
                opened[key] = one["method"]
                self._latest = stream
                if len(opened) > _MOST_OPEN:
                    del opened[next(iter(opened))]
            else:
                self._open[_opposite(stream)].pop(key, None)

    def _inferred(self, message: Any) -> Stream:
        one = next(iter(message), None) if isinstance(message, list) else message
        if not isinstance(one, dict):
            return _TO_CLIENT
        if isinstance(method := one.get("method"), str):
            return direction_of_method(method) or self._by_custom(one)
        key = _key(one.get("id"))
        asked = [stream for stream, opened in self._open.items() if key in opened]
        if len(asked) == 1:
            return _opposite(asked[0])
        if asked and "result" not in one:
            return _opposite(self._latest)
        result = one.get("result")
        if asked and (member := _SURE.get(self._open[_TO_AGENT][key])) is not None:
            return _TO_CLIENT if isinstance(result, dict) and member in result else _TO_AGENT
        return direction_of_result(result)

    def _by_custom(self, one: dict[str, Any]) -> Stream:
        """An agent announces with methods of its own; a client asks with them."""
        if one.get("method") == "$/cancel_request":
            params = one.get("params")
            target = _key(params.get("requestId")) if isinstance(params, dict) else ""
            asked = [stream for stream, opened in self._open.items() if target in opened]
            return asked[0] if len(asked) == 1 else _TO_AGENT
        return _TO_CLIENT if one.get("id") is None else _TO_AGENT


def _key(request_id: Any) -> str:
    """Returns what stands for an id, which may be any JSON, of any size."""
    text = repr(request_id)
    return text if len(text) <= _LONGEST_ID else sha256(text.encode("utf-8", "replace")).hexdigest()


def _opposite(stream: Stream) -> Stream:
    return _TO_CLIENT if stream is _TO_AGENT else _TO_AGENT
