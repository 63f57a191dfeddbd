"""The likely meaning of unpaired answers and requests, so that one mistake is reported once.

An answer with a wrong id breaks a rule. If its request then counted as unanswered and its new
session as unknown, one mistake would cause a chain of findings. So the answer is matched to an open
request that it fits. If none fits, or if a message could not be read, the names that it may have
introduced are excused once.
"""

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from attrs import define, field

from acp_proxy.check.conversation.session_record import Remembered
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.protocol.jsonrpc import Direction

if TYPE_CHECKING:
    from acp_proxy.check.checked_message import CheckedMessage
    from acp_proxy.check.schema_check import DialectSchema

SESSION, TERMINAL, CALL = "session", "terminal", "tool call"
_UNREADABLE = (-32700, -32600)
"""Codes of errors about lines that could not be read; such lines opened no request."""


def _by_direction() -> dict[Direction, Remembered[str, int]]:
    return {way: Remembered() for way in Direction}


@define(eq=False)
class MistakenPairs:
    """The state of unpaired answers and requests."""

    early: dict[Direction, Remembered[str, int]] = field(factory=_by_direction)
    """The ids of answers without a request, by the direction in which a request would have gone."""
    broken: dict[Direction, Remembered[str, int]] = field(factory=_by_direction)
    """The ids of invalid requests, such as those whose method is not a string."""
    without_id: Counter[Direction] = field(factory=Counter)
    """The number of requests without an id, which may be answered all the same."""
    excused: Counter[str] = field(factory=Counter)
    """The number of names of each kind that may have been in unreadable messages."""
    lost_update_seq: int = 0
    """The frame of the latest unreadable message to the client, which may have been an update."""
    adopted: Remembered[int, "CheckedMessage"] = field(factory=Remembered)
    """The answer that was matched to each exchange."""
    lost_prompt: str | None = None
    """The session of the latest prompt if this session is unknown; empty if the prompt could not be
    read; else None."""

    def explains(self, message: "CheckedMessage") -> bool:
        """Whether an invalid request explains an answer without a request."""
        direction, token = message.direction.other, message.parsed.rpc_id or "null"
        return token in self.broken[direction] or bool(self.without_id[direction])

    def may_be_prompted(self, session: str) -> bool:
        """Whether the latest prompt names another, unknown session and may have meant this one."""
        return self.lost_prompt not in (None, session)

    def excuse(self, what: str) -> None:
        """Notes that a message may have introduced a name of this kind but could not be read."""
        self.excused[what] += 1

    def lose_update(self, seq: int) -> None:
        """Notes an unreadable or misplaced update, which may have named a tool call."""
        self.excused[CALL] += 1
        self.lost_update_seq = seq

    def use_excuse(self, what: str) -> None:
        """Uses up one excuse, if there is one, since an unknown name of this kind has appeared."""
        if self.excused[what]:
            self.excused[what] -= 1


def best_fit(
    message: "CheckedMessage", open_: "list[CheckedMessage]", schema: "DialectSchema | None"
) -> "CheckedMessage | None":
    """Returns the newest open request that an unpaired answer fits.

    Args:
        message: the answer.
        open_: the open requests, oldest first.
        schema: the types of the dialect.
    """
    if message.is_error:
        is_open = message.parsed.error_code not in _UNREADABLE
        return open_[0] if len(open_) == 1 and is_open else None
    return next((request for request in reversed(open_) if _fits(message, request, schema)), None)


def retyped_id(token: str) -> str | None:
    """Returns the token of the same id in the other type: 7 for "7", and "7" for 7."""
    if token.startswith('"'):
        inner = token[1:-1]
        return inner if inner.lstrip("-").isdigit() else None
    return f'"{token}"'


def token_of(value: Any) -> str | None:
    """Returns the token of an object's id; None unless the id is a string or a number."""
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
