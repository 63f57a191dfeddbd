"""Decides which messages are about the same tool call, since some agents reuse ids.

A message usually belongs to the latest call with its id, even if the turn of the call has ended.
Only the messages that `Beginning` lists can begin a new call with a used id:

- If the latest call is over, each of these messages begins a new call.
- An announcement or a permission request also begins a new call if no earlier message of the same
  turn has named the latest call.
- Otherwise the message is about the latest call.

These rules also apply to the history of a loaded session. Code that counts tool calls skips this
history, or counts a repeated call only once.
"""

from collections.abc import Hashable
from enum import Enum
from typing import Generic, TypeVar

from attrs import define, field

from acp_proxy.protocol.dialects import PERMISSION, V2
from acp_proxy.protocol.updates import FINAL, NEW_CALL, RUNNING, TOOL_CALLS

CallKey = tuple[str | None, str]
"""A session id and a tool call id."""

_UPDATED = TOOL_CALLS[1]


class Beginning(Enum):
    """How a message can begin a tool call whose id was used before."""

    ANNOUNCED = "announced"
    """A ``tool_call`` update begins the call. A permission request begins the call if it comes
    before that update, or if no such update comes."""
    RUNNING = "running"
    """An update with a status that is not final begins the call. This happens only in v2, which has
    no ``tool_call`` update."""


def beginning(
    method: str | None, update: str | None, status: str | None, dialect: str | None
) -> Beginning | None:
    """Returns how a message about a tool call can begin a call; None if the message cannot.

    Args:
        method: the message's method.
        update: the kind of update, if the message is a session update.
        status: the tool call's status in the message.
        dialect: the dialect of the connection.
    """
    if update == NEW_CALL or method == PERMISSION:
        return Beginning.ANNOUNCED
    if update == _UPDATED and dialect == V2 and status in RUNNING:
        return Beginning.RUNNING
    return None


def is_another(how: Beginning | None, *, is_over: bool, is_of_turn: bool) -> bool:
    """Whether a message begins a new tool call although an earlier call has the same id.

    Args:
        how: how the message can begin a call; None if the message cannot.
        is_over: whether the latest call with the id has a final status.
        is_of_turn: whether an earlier message of the turn has named the latest call; also true if
            there is no turn.
    """
    if how is None:
        return False
    return is_over or (how is Beginning.ANNOUNCED and not is_of_turn)


Key = TypeVar("Key", bound=Hashable)


@define
class _LastCall:
    turn: int | None
    """The latest turn that named the call."""
    is_over: bool = False


@define
class LastCalls(Generic[Key]):
    """The latest tool call of each id. A call that was removed to save memory counts as unknown."""

    dialect: str | None
    most: int = 100_000
    """The largest number of calls to remember; if there are more, the oldest calls are evicted."""
    _last: dict[Key, _LastCall] = field(factory=dict)

    def begins(
        self, key: Key, turn: int | None, method: str | None, update: str | None, status: str | None
    ) -> bool:
        """Processes the next message about a tool call; returns whether the message begins a call.

        Args:
            key: identifies the call's id within the connection.
            turn: the turn of the message.
            method: the message's method.
            update: the kind of update, if the message is a session update.
            status: the tool call's status in the message.
        """
        last = self._last.get(key)
        how = beginning(method, update, status, self.dialect)
        begins = last is None or is_another(
            how, is_over=last.is_over, is_of_turn=turn in (None, last.turn)
        )
        if last is None or begins:
            self._last.pop(key, None)
            last = self._last[key] = _LastCall(turn)
            if len(self._last) > self.most:
                del self._last[next(iter(self._last))]
        last.turn = last.turn if turn is None else turn
        last.is_over |= status in FINAL
        return begins
