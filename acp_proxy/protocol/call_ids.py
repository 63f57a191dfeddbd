"""Decides which messages are about the same tool call, since some agents reuse ids.

Tool calls of a session with the same id follow one another: each message with the id is about the
call that began last. Only some messages can begin a call (`Beginning`). All others are about the
latest call, even after its turn has ended. A message that can begin a call is treated as follows:

- After the latest call is over, it begins another call.
- An announcement or a permission request in a turn that has not named the latest call begins
  another call.
- Otherwise it is about the latest call: permission is asked for it, or it is announced again.

The same rules apply to the history that an agent replays when a session is loaded. Code that counts
tool calls skips this history, or counts a replayed call together with the original one.
"""

from collections.abc import Hashable
from enum import Enum
from typing import Generic, TypeVar

from attrs import define, field

from acp_proxy.protocol.dialects import PERMISSION, V2
from acp_proxy.protocol.updates import FINAL, NEW_CALL, RUNNING, TOOL_CALLS

CallKey = tuple[str | None, str]
"""The session and the id of tool calls."""

_UPDATED = TOOL_CALLS[1]


class Beginning(Enum):
    """How a message can begin a tool call whose id was used before."""

    ANNOUNCED = "announced"
    """A ``tool_call``, or a permission request, which may precede or replace it."""
    RUNNING = "running"
    """An update to a status that is not final; in v2, which has no other announcement."""


def beginning(
    method: str | None, update: str | None, status: str | None, dialect: str | None
) -> Beginning | None:
    """Returns how a message about a tool call can begin a call; None if it cannot.

    Args:
        method: the message's method.
        update: the kind of update, if it is a session update.
        status: the status in the message.
        dialect: the dialect of the connection.
    """
    if update == NEW_CALL or method == PERMISSION:
        return Beginning.ANNOUNCED
    if update == _UPDATED and dialect == V2 and status in RUNNING:
        return Beginning.RUNNING
    return None


def is_another(how: Beginning | None, *, is_over: bool, is_of_turn: bool) -> bool:
    """Whether a message begins a new tool call although its id was used before.

    Args:
        how: how the message can begin a call.
        is_over: whether the latest call has a final status.
        is_of_turn: whether the message's turn has named the latest call, or there is no turn.
    """
    if how is None:
        return False
    return is_over or (how is Beginning.ANNOUNCED and not is_of_turn)


Key = TypeVar("Key", bound=Hashable)


@define
class _LastCall:
    turn: int | None
    """The last turn that named the call."""
    is_over: bool = False


@define
class LastCalls(Generic[Key]):
    """The latest tool call with each id; an evicted one counts as unknown."""

    dialect: str | None
    most: int = 100_000
    """The capacity; beyond it the oldest entries are evicted."""
    _last: dict[Key, _LastCall] = field(factory=dict)

    def begins(
        self,
        key: Key,
        turn: int | None,
        method: str | None,
        update: str | None,
        status: str | None,
    ) -> bool:
        """Takes the next message about a tool call; returns whether it begins a call.

        Args:
            key: identifies the call's id.
            turn: the turn of the message.
            method: the message's method.
            update: the kind of update, if it is a session update.
            status: the status in the message.
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
