"""Chooses between recordings of one story, of which each start of the agent plays the next.

A client that restarts its agent has recordings of several processes. Which of them a start is, the
client's first messages tell: all are played at once, and one that diverges where another does not
is out. Nothing is kept from one start to the next, so of recordings in which the client says the
same the first is always the one.

What all of them say is said, and the first one's session ids stand for everybody's: an agent makes
up a new one in every process, so that ids alone do not tell recordings apart. What only some say so
far, as an update does that came before the prompt in one recording and after it in another, is held
back while nobody waits for it. Where they say different things, the first of those left is the one.
"""

from collections import deque
from collections.abc import Iterator

from attrs import define, field

from acp_proxy.commands import Command, Finish, Send, WakeAt
from acp_proxy.engine.agent.replay import Replay
from acp_proxy.engine.agent.session_renaming import renamed, session_pairs
from acp_proxy.engine.agent.state import Stage
from acp_proxy.engine.shared.divergence import Rank
from acp_proxy.engine.shared.divergence_log import DivergenceLog
from acp_proxy.engine.shared.steps import FORK, Wire
from acp_proxy.events import Event
from acp_proxy.protocol.splice import Place

_AWAITED = ("request", "response", "error", "batch")
"""Kinds of messages for which a client may wait."""


@define(eq=False)
class Candidate:
    """A recording that may be the one, and what it would have said that is not said.

    Attributes:
        replay: its engine, which is fed all that the client says.
        unsaid: what is held back, in order.
        names: what each of its sessions is called by what was said, by its own id.
        wake_at: when the engine wants to be woken.
    """

    replay: Replay
    unsaid: deque[Send | Finish] = field(factory=deque)
    names: dict[str, str] = field(factory=dict)
    wake_at: int | None = None

    def take(self, event: Event) -> None:
        """Feeds the engine."""
        self.wake_at = None
        for command in self.replay.feed(event):
            if isinstance(command, WakeAt):
                self.wake_at = command.at
            else:
                self.unsaid.append(command)

    @property
    def divergence_count(self) -> int:
        """How often the client has diverged from it."""
        divergences = self.replay.divergences
        return divergences.left_out + sum(one.rank is not Rank.INFO for one in divergences.found)

    @property
    def is_patient(self) -> bool:
        """Whether nobody may wait for what is unsaid."""
        wires = (self._wire(command) for command in self.unsaid)
        return all(wire is not None and wire.kind not in _AWAITED for wire in wires)

    def is_slower(self, at: int) -> bool:
        """Whether it has something to say that only waits for its time."""
        waiting = self.replay.stage.player.waiting_for_time(at)
        return any(ready.due > at for ready in waiting)

    def names_in(self, said: "Candidate") -> dict[str, str] | None:
        """Compares what it would say next with what another one would.

        Returns:
            What the other one calls its sessions, if the two differ in no more; else None.
        """
        one, other = self.unsaid[0], said.unsaid[0]
        if isinstance(one, Finish) or isinstance(other, Finish):
            return {} if one == other else None
        wire, theirs = self._wire(one), said._wire(other)
        if (
            wire is None
            or theirs is None
            or (wire.kind, wire.method) != (theirs.kind, theirs.method)
        ):
            return {} if one.data == other.data else None
        pairs = session_pairs(one.data, other.data, wire.kind, wire.method)
        return None if pairs is None else self._consistent(pairs)

    def _consistent(self, pairs: list[tuple[str, str]]) -> dict[str, str] | None:
        """New names, if no session gets two, no two get one, and the agent made up the old ones."""
        names: dict[str, str] = {}
        for own, new in pairs:
            taken = {*self.names.values(), *names.values()}
            known = own if own in taken else names.get(own)
            if known is None:
                if new in taken or (own != new and not self._may_be_renamed(own, new)):
                    return None
                names[own] = new
            elif known != new:
                return None
        return names

    def _may_be_renamed(self, own: str, new: str) -> bool:
        """Whether the agent has made up a session id, and no other session has the new one."""
        lanes = self.replay.stage.schedule.lanes
        lane = lanes.get(self.replay.stage.listener.recorded_session(own))
        opening = lane.first if lane is not None else None
        is_clients = opening is not None and opening.names_session and opening.method != FORK
        return not is_clients and new not in lanes

    def call(self, names: dict[str, str]) -> None:
        """Calls its sessions so from now on, in what is unsaid and in what the client says."""
        self.names |= names
        changed = {own: new for own, new in names.items() if own != new}
        if not changed:
            return
        for own, new in changed.items():
            self.replay.stage.bindings.bind(Place.SESSION, own, new)
        for place, command in enumerate(self.unsaid):
            wire = self._wire(command)
            if isinstance(command, Send) and wire is not None:
                line = renamed(command.data, wire.kind, wire.method, changed)
                self.unsaid[place] = Send(line, command.seq)

    def _wire(self, command: Send | Finish) -> Wire | None:
        """The recorded frame that a command sends, if it is one."""
        if isinstance(command, Finish) or command.seq is None:
            return None
        return self.replay.stage.schedule.script.wire(command.seq)


class Choice:
    """Plays the recording that fits; with the methods of a `Replay`."""

    def __init__(self, replays: list[Replay]) -> None:
        self._candidates = [Candidate(replay) for replay in replays]
        self._is_finished = False

    @property
    def replays(self) -> list[Replay]:
        """Those that may still be the one; the first is it as far as one can tell."""
        return [candidate.replay for candidate in self._candidates]

    @property
    def chosen(self) -> Replay:
        """The one that is played, or would be."""
        return self._candidates[0].replay

    @property
    def stage(self) -> Stage:
        """What is known of the one that is played."""
        return self.chosen.stage

    @property
    def divergences(self) -> DivergenceLog:
        """The divergences of the one that is played."""
        return self.chosen.divergences

    @property
    def is_over(self) -> bool:
        """Whether nothing will be sent any more."""
        return self._is_finished

    def feed(self, event: Event) -> Iterator[Command]:
        """Takes an event and yields what to do."""
        if self._is_finished:
            return
        if len(self._candidates) == 1:
            yield from self.chosen.feed(event)
            self._is_finished = self.chosen.is_over
            return
        for candidate in self._candidates:
            candidate.take(event)
        fewest = min(candidate.divergence_count for candidate in self._candidates)
        self._candidates = [c for c in self._candidates if c.divergence_count == fewest]
        yield from self._say(event.at)

    def _say(self, at: int) -> Iterator[Command]:
        """Says what all would say; that is everything, once there is one left."""
        while True:
            first, *others = self._candidates
            self._candidates = [first, *(c for c in others if _may_both_be(first, c, at))]
            if not all(candidate.unsaid for candidate in self._candidates):
                break
            for other in self._candidates[1:]:
                other.call(other.names_in(first) or {})
                other.unsaid.popleft()
            command = first.unsaid.popleft()
            self._is_finished |= isinstance(command, Finish)
            yield command
        if not self._is_finished:
            moments = [c.wake_at for c in self._candidates if c.wake_at is not None]
            yield WakeAt(min(moments, default=None))


def _may_both_be(first: Candidate, other: Candidate, at: int) -> bool:
    """Whether what two recordings say goes together so far."""
    if first.unsaid and other.unsaid:
        return other.names_in(first) is not None
    ahead, behind = (first, other) if first.unsaid else (other, first)
    return ahead.is_patient or behind.is_slower(at)
