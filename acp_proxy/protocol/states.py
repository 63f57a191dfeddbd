"""The states of a connection and of its parts, and the events that lead from one to another.

Each table has a row for every state: the events that the protocol allows there, each with the state
that follows. An event that is not in the row is a violation: the state stays, and the transition
that `connection.Connection.feed` returns lists it.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, TypeVar

from acp_proxy.protocol.updates import FINAL


class Phase(StrEnum):
    """How far the initialization of a connection has come."""

    NEW = "new"
    INITIALIZING = "initializing"
    READY = "ready"


class SessionState(StrEnum):
    """Whether a session can be used; v2 reports the states of an open one itself."""

    OPEN = "open"
    CLOSED = "closed"


class TurnPhase(StrEnum):
    """The state of a turn."""

    RUNNING = "running"
    CANCELLING = "cancelling"
    """The client has cancelled it, and the agent has not ended it yet."""
    ENDED = "ended"


class TerminalState(StrEnum):
    """The state of a terminal."""

    RUNNING = "running"
    EXITED = "exited"
    """Its command has ended or was killed; its output can still be read."""
    RELEASED = "released"


class StateEvent(StrEnum):
    """What happens to a connection, a session, a turn or a terminal."""

    INITIALIZE = "initialize"
    INITIALIZED = "initialized"
    REFUSED = "refused"
    CLOSE = "close"
    CANCEL = "cancel"
    END = "end"
    EXIT = "exit"
    KILL = "kill"
    RELEASE = "release"


class Violation(NamedTuple):
    """An event that the protocol does not allow in the state in which it came."""

    part: str
    """connection, session, turn, tool_call or terminal."""
    id: str | None
    state: str
    event: str
    """An `StateEvent`, or the status that a tool call cannot take."""


PHASES: Mapping[Phase, Mapping[StateEvent, Phase]] = {
    Phase.NEW: {StateEvent.INITIALIZE: Phase.INITIALIZING},
    Phase.INITIALIZING: {StateEvent.INITIALIZED: Phase.READY, StateEvent.REFUSED: Phase.NEW},
    Phase.READY: {},
}
SESSIONS: Mapping[SessionState, Mapping[StateEvent, SessionState]] = {
    SessionState.OPEN: {StateEvent.CLOSE: SessionState.CLOSED},
    SessionState.CLOSED: {},
}
TURNS: Mapping[TurnPhase, Mapping[StateEvent, TurnPhase]] = {
    TurnPhase.RUNNING: {StateEvent.CANCEL: TurnPhase.CANCELLING, StateEvent.END: TurnPhase.ENDED},
    TurnPhase.CANCELLING: {
        StateEvent.CANCEL: TurnPhase.CANCELLING,
        StateEvent.END: TurnPhase.ENDED,
    },
    TurnPhase.ENDED: {},
}
TERMINALS: Mapping[TerminalState, Mapping[StateEvent, TerminalState]] = {
    TerminalState.RUNNING: {
        StateEvent.EXIT: TerminalState.EXITED,
        StateEvent.KILL: TerminalState.EXITED,
        StateEvent.RELEASE: TerminalState.RELEASED,
    },
    TerminalState.EXITED: {
        StateEvent.EXIT: TerminalState.EXITED,  # a wait for the exit may be repeated
        StateEvent.KILL: TerminalState.EXITED,
        StateEvent.RELEASE: TerminalState.RELEASED,
    },
    TerminalState.RELEASED: {},
}
CALLS: Mapping[str, frozenset[str]] = {
    "pending": frozenset({"pending", "awaiting_permission", "in_progress"}) | FINAL,
    "awaiting_permission": frozenset({"pending", "awaiting_permission", "in_progress"}) | FINAL,
    "in_progress": frozenset({"in_progress", "awaiting_permission"}) | FINAL,
    **{status: frozenset({status}) for status in FINAL},
}
"""The statuses of a tool call, with those that may follow."""

_State = TypeVar("_State", bound=StrEnum)


def step(
    table: Mapping[_State, Mapping[StateEvent, _State]],
    state: _State,
    event: StateEvent,
    violations: list[Violation],
    part: str,
    name: str | None = None,
) -> _State:
    """Returns the next state, or the same one if the table does not allow the event.

    Args:
        table: one of the tables above.
        state: the state now.
        event: what has happened.
        violations: gets an event that is not allowed.
        part: the part of the connection, as in `Violation`.
        name: its id.
    """
    following = table[state].get(event)
    if following is None:
        violations.append(Violation(part, name, state, event))
        return state
    return following
