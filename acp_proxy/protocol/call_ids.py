"""Decides which messages are about the same tool call, since some agents use an id again.

Tool calls of a session with the same id follow one another: each message with the id is about the
call that began last. Some messages can begin a call, see `Beginning`; all others are about the call
that is there, also after the end of its turn. Of those that can,

- one that comes when the call is over begins another call,
- an announcement or a permission request in a turn that has not named the call begins another call,
- any other is about the same call: permission is asked for it, or it is announced a second time.

The same rules hold for the history that an agent replays when a session is loaded. Code that counts
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
    """By ``tool_call``, or by a permission request, which may come before it or instead of it."""
    RUNNING = "running"
    """In v2, which has no other announcement, by an update to a status that is not final."""


def beginning(
    method: str | None, update: str | None, status: str | None, dialect: str | None
) -> Beginning | None:
    """Returns how a message about a tool call can begin a call; None if it cannot.

    Args:
        method: its method.
        update: its kind, if it is a session update.
        status: the status that it names.
        dialect: the dialect of the connection.
    """
    if update == NEW_CALL or method == PERMISSION:
        return Beginning.ANNOUNCED
    if update == _UPDATED and dialect == V2 and status in RUNNING:
        return Beginning.RUNNING
    return None


def is_another(how: Beginning | None, *, is_over: bool, is_of_turn: bool) -> bool:
    """Whether a message begins another tool call than the last one with its id.

    Args:
        how: how it can begin a call.
        is_over: whether the last call has had a final status.
        is_of_turn: whether the turn of the message has named the last call, or there is no turn.
    """
    if how is None:
        return False
    return is_over or (how is Beginning.ANNOUNCED and not is_of_turn)


Key = TypeVar("Key", bound=Hashable)


@define
class _LastCall:
    turn: int | None
    """The last turn that named it."""
    is_over: bool = False


@define
class LastCalls(Generic[Key]):
    """The last tool call with each id, by any key; what it has forgotten counts as unknown."""

    dialect: str | None
    most: int = 100_000
    """The largest count; the oldest ones are forgotten."""
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
            key: of the id.
            turn: the turn of the message.
            method: its method.
            update: its kind, if it is a session update.
            status: the status that it names.
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
