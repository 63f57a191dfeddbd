"""Divides the time of each turn: the agent spoke, was silent, or waited for its client.

Each moment of a turn belongs to exactly one part. While a request of the agent to its client is
open, the turn waits. If several such requests are open, the part that comes first in `WAITING`
counts.

All other time is the agent's. The agent is streaming while its pauses take at most `PAUSE_NS`. It
is silent in longer pauses and before its first update. After each answer of the client, the agent
is silent until it sends something.

`intervals` measures the times. `stats` needs the sums of each turn, and the waterfall needs the
single intervals.
"""

from collections.abc import Iterable
from enum import StrEnum
from functools import lru_cache
from typing import Any, NamedTuple

from attrs import define, evolve, field, frozen

from acp_proxy.explain.describe.token_texts import Tokens
from acp_proxy.explain.waits import Party, answering_party
from acp_proxy.protocol.connection_state import Exchange, Turn

PAUSE_NS = 250 * 10**6
"""The longest pause of an agent that counts as streaming."""


class Part(StrEnum):
    """A part into which the time of a turn is divided."""

    STREAMING = "streaming"
    SILENT = "silent"
    PERSON = "person"
    TERMINALS = "terminals"
    FILES = "files"
    OTHER = "other"


WAITING = (Part.PERSON, Part.TERMINALS, Part.FILES, Part.OTHER)
"""The parts of a turn in which the turn waits for its client. A time that belongs to several parts
counts for the part that stands first here."""
_STREAMING, _SILENT = Part.STREAMING, Part.SILENT  # enum lookups are slow


@lru_cache
def waiting_part(method: str | None) -> Part:
    """Returns the part to which a turn's time belongs while a request to the client is open."""
    match answering_party("to-client", method):
        case Party.PERSON:
            return Part.PERSON
        case Party.PROGRAM:
            return Part.TERMINALS
    group = (method or "").partition("/")[0]
    return {"terminal": Part.TERMINALS, "fs": Part.FILES}.get(group, Part.OTHER)


class Interval(NamedTuple):
    """A stretch of a turn in which one party had to act."""

    turn: int
    part: Part
    """The part to which the time of the interval belongs."""
    from_ns: int
    to_ns: int
    seq: int | None
    """The number of the frame that ended the interval; None if the recording ended first."""
    request: Exchange | None = None
    """The request, if the interval lasts from a request to its answer. None for an interval that is
    a part of the turn's time."""


@frozen
class TurnTime:
    """One turn and how it spent its time."""

    id: int
    session: str | None
    prompt_seq: int
    end_seq: int | None
    stop_reason: str | None
    open: bool
    """Whether the turn is still open. An open turn lasts until the recording's end, or until
    now."""
    start_ns: int
    """The time of the prompt, from the start of the recording."""
    duration_ns: int
    first_update_ns: int | None
    """The time from the prompt to the first session update."""
    first_chunk_ns: int | None
    """The time from the prompt to the first piece of a message or thought of the agent."""
    agent_ns: int
    """The time of the agent: streaming and silent together."""
    client_ns: int
    """The time of waiting for the client: person, terminals, files and other together."""
    streaming_ns: int
    silent_ns: int
    person_ns: int
    terminals_ns: int
    files_ns: int
    other_ns: int
    prompt: str = ""
    """The beginning of the prompt's text."""
    tokens: Tokens | None = None
    """The tokens that the agent reported for the turn; None without a report."""

    def part_ns(self, part: Part) -> int:
        """Returns the time of one part of the turn, in nanoseconds."""
        ns: int = getattr(self, f"{part}_ns")
        return ns


def spent_in(turns: Iterable[TurnTime]) -> dict[Part, int]:
    """Returns the total time of each part in the given turns, in nanoseconds."""
    every = list(turns)
    return {part: sum(turn.part_ns(part) for turn in every) for part in Part}


@frozen
class WholeTime:
    """How much time of the whole recording is inside of turns, and how much is outside."""

    before_turns_ns: int
    """The time until the first prompt. Without a prompt, the time of the whole recording."""
    in_turns_ns: int
    """The time while at least one turn was open."""
    between_turns_ns: int
    """The time after the first prompt while no turn was open."""


@define
class RunningTurn:
    """A turn that has begun, and how its time divides so far."""

    turn: Turn
    start_ns: int
    now_ns: int
    """The time up to which the turn's time has been divided into parts."""
    spent: dict[Part, int] = field(factory=lambda: dict.fromkeys(Part, 0))
    first_update_ns: int | None = None
    first_chunk_ns: int | None = None
    has_spoken: bool = False
    """Whether the agent has sent anything since the prompt or the last answer."""
    waits: dict[int, tuple[Exchange, Part, int]] = field(factory=dict)
    """The unanswered requests, by the number of the exchange: the exchange, its part, and the time
    of the request."""
    awaited: dict[Part, int] = field(factory=lambda: dict.fromkeys(WAITING, 0))
    """The number of unanswered requests of each part."""

    def pass_time(self, t_ns: int, *, is_pause: bool = True) -> tuple[Part, int]:
        """Adds the time since the last call of `pass_time` to a part of the turn.

        Returns the part, and the time that was added.

        Args:
            t_ns: the present time; never earlier than in the last call.
            is_pause: whether nothing was sent since the last call.
        """
        elapsed = max(0, t_ns - self.now_ns)
        if self.waits:
            part = next(filter(self.awaited.get, WAITING))
        elif self.has_spoken and (elapsed <= PAUSE_NS or not is_pause):
            part = _STREAMING
        else:
            part = _SILENT
        self.spent[part] += elapsed
        self.now_ns += elapsed
        return part, elapsed

    def until(self, end_ns: int) -> TurnTime:
        """Returns how the turn has spent its time up to a given time. The turn is not changed.

        Args:
            end_ns: the end of the recording, or the present time.
        """
        turn = evolve(self, spent={**self.spent})
        turn.pass_time(end_ns)
        return turn.finished()

    def finished(self) -> TurnTime:
        """Returns how the turn spent its time, up to the last call of `pass_time`."""
        turn, spent = self.turn, self.spent
        parts: dict[str, Any] = {f"{part}_ns": ns for part, ns in spent.items()}
        return TurnTime(
            turn.id, turn.session, turn.prompt_seq, turn.end_seq, turn.stop_reason,
            open=turn.end_seq is None,
            start_ns=self.start_ns, duration_ns=self.now_ns - self.start_ns,
            first_update_ns=self.first_update_ns, first_chunk_ns=self.first_chunk_ns,
            agent_ns=spent[Part.STREAMING] + spent[Part.SILENT],
            client_ns=sum(spent[part] for part in WAITING),
            **parts,
        )  # fmt: skip
