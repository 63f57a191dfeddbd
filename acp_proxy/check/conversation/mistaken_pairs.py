"""What was meant by answers and requests that cannot be paired, so that one mistake counts once.

An answer with a wrong id breaks a rule. If what it was meant for then counted as unanswered, and
the session that it opens as unknown, one mistake would cause a chain of findings. So it is taken
for the answer of an open request that it fits. Where nothing fits, or where a message could not be
read, what it may have named is excused once.
"""

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from attrs import define, field

from acp_proxy.check.conversation.session_record import Remembered
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.protocol.peers import Direction

if TYPE_CHECKING:
    from acp_proxy.check.checked_message import CheckedMessage
    from acp_proxy.check.schema_check import DialectSchema

SESSION, TERMINAL, CALL = "session", "terminal", "tool call"
_UNREADABLE = (-32700, -32600)
"""Codes of errors that answer what could not be read, and that therefore is not open."""


def _by_direction() -> dict[Direction, Remembered[str, int]]:
    return {way: Remembered[str, int](1_000) for way in Direction}


@define(eq=False)
class MistakenPairs:
    """What is known of messages without their other half."""

    early: dict[Direction, Remembered[str, int]] = field(factory=_by_direction)
    """The ids of answers that came without a request, by the direction that it would have."""
    broken: dict[Direction, Remembered[str, int]] = field(factory=_by_direction)
    """The ids of requests that are none, for instance since their method is no string."""
    without_id: Counter[Direction] = field(factory=Counter)
    """How many requests had no id, and may be answered all the same."""
    excused: Counter[str] = field(factory=Counter)
    """How many names, by what has them, were in a message that could not be read."""
    lost_update_seq: int = 0
    """The latest message to the client that may be an update, and could not be read."""
    adopted: Remembered[int, "CheckedMessage"] = field(factory=lambda: Remembered(1_000))
    """The answer that was taken for that of an exchange, by the exchange."""
    lost_prompt: str | None = None
    """The session of the latest prompt if that is not known; empty if it could not be read."""

    def explains(self, message: "CheckedMessage") -> bool:
        """Whether an answer that belongs to no request is explained by one that was broken."""
        direction, token = message.direction.other, message.parsed.rpc_id or "null"
        return token in self.broken[direction] or bool(self.without_id[direction])

    def may_be_prompted(self, session: str) -> bool:
        """Whether the latest prompt may have been meant for a session that it does not name."""
        return self.lost_prompt not in (None, session)

    def excuse(self, what: str) -> None:
        """Notes that a name was lost."""
        self.excused[what] += 1

    def lose_update(self, seq: int) -> None:
        """Notes that an update could not be read, or not be placed, which may name a tool call."""
        self.excused[CALL] += 1
        self.lost_update_seq = seq

    def use_excuse(self, what: str) -> None:
        """Notes that a name has come up that was not known."""
        if self.excused[what]:
            self.excused[what] -= 1


def best_fit(
    message: "CheckedMessage", open_: "list[CheckedMessage]", schema: "DialectSchema | None"
) -> "CheckedMessage | None":
    """Returns the newest request that an answer fits which belongs to none.

    Args:
        message: the answer.
        open_: the requests that are open, the oldest first.
        schema: the types of the dialect.
    """
    if message.is_error:
        is_open = message.parsed.error_code not in _UNREADABLE
        return open_[0] if len(open_) == 1 and is_open else None
    return next((request for request in reversed(open_) if _fits(message, request, schema)), None)


def retyped_id(token: str) -> str | None:
    """Returns the token of an id in the other type: 7 for "7", and the reverse."""
    if token.startswith('"'):
        inner = token[1:-1]
        return inner if inner.lstrip("-").isdigit() else None
    return f'"{token}"'


def token_of(value: Any) -> str | None:
    """Returns the token of an object's id, or None if it has none that is a string or a number."""
    rpc_id = value.get("id") if isinstance(value, dict) else None
    return json.dumps(rpc_id) if isinstance(rpc_id, str | int) else None


def _fits(
    message: "CheckedMessage", request: "CheckedMessage", schema: "DialectSchema | None"
) -> bool:
    method = request.method or ""
    if method in INITIALIZE:
        return "protocolVersion" in message.result
    result = message.value.get("result") if isinstance(message.value, dict) else None
    if schema is None or not schema.knows(request.direction, method, is_result=True):
        return False
    return schema.compare(request.direction, method, True, result).fits
