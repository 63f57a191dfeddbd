"""The replay engine: a recorded agent, played to a client; events in, commands out.

It runs to quiescence after each line of the client's: everything that the recording allows to go
out goes out, lowest recorded number first, before the next line is looked at. Time comes with the
events and nothing is random, so the same lines give the same bytes.
"""

from collections.abc import Iterator

from acp_proxy.commands import Command, Finish, WakeAt
from acp_proxy.engine.agent.client_messages import Receiver
from acp_proxy.engine.agent.ending import SETTLE_NS, Ending
from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.agent.options import ReplayOptions
from acp_proxy.engine.agent.state import Stage
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.divergence_log import DivergenceLog
from acp_proxy.engine.shared.pacing import NS_PER_S
from acp_proxy.engine.shared.steps import HANDSHAKE, Script
from acp_proxy.events import EndOfInput, Event, LineReceived, WriteStalled

_AT_ONCE = 1 << 62


class Replay:
    """One connection, played.

    Attributes:
        stage: all that is known of it.
        is_over: whether nothing will be sent any more.
    """

    def __init__(self, script: Script, options: ReplayOptions) -> None:
        self.stage = Stage.set(script, options)
        self.is_over = False
        self._receiver = Receiver(self.stage)
        self._ending = Ending(self.stage)
        self._schedule = self.stage.schedule
        self._player = self.stage.player
        self._moved_at: int | None = None
        self._input_at = 0

    @property
    def divergences(self) -> DivergenceLog:
        """The divergences of the client."""
        return self.stage.divergences

    @property
    def lines(self) -> int:
        """How many lines the client has sent."""
        return self._receiver.lines

    @property
    def unplayed(self) -> int:
        """How many frames of what was unrolled never went out."""
        return self._schedule.frames - self._player.passed

    @property
    def is_played_out(self) -> bool:
        """Whether all went out and came that was recorded, but for what may be left out."""
        owed = any(lane.awaited for lane in self._schedule.lanes.values())
        return self._schedule.is_whole and self.unplayed == self._player.left_out and not owed

    def feed(self, event: Event) -> Iterator[Command]:
        """Takes an event and yields what to do; all of it, before the next event is fed."""
        if self.is_over:
            return
        self.stage.divergences.begin(event.at)
        if self._moved_at is None:
            self._input_at = self._moved_at = event.at
        if isinstance(event, LineReceived):
            self._input_at = self._moved_at = event.at
            yield from self._receiver.take(event.raw, event.at)
        yield from self._play(event.at)
        if isinstance(event, EndOfInput):
            yield from self._end(event.at)
        elif isinstance(event, WriteStalled):
            yield from self._give_up(event.at)
        else:
            yield from self._look_for_trouble(event.at)
        if not self.is_over and self._ending.has_come(is_settled=self._is_settled(event.at)):
            yield from self._end_by_itself(event.at)
        if not self.is_over:
            yield WakeAt(self._next_moment(event.at))

    def _play(self, at: int, *, at_once: bool = False) -> Iterator[Command]:
        """Plays all that can be played now."""
        while True:
            while (ready := self._player.next(at if not at_once else _AT_ONCE)) is not None:
                self._moved_at = at
                yield from self.stage.play(ready, at)
            if self._schedule.is_whole or not self._needs_more():
                return
            self._schedule.read_on()

    def _is_settled(self, at: int) -> bool:
        """Whether nothing has come for so long that it was not mere reordering."""
        return at - self._input_at >= SETTLE_NS

    def _needs_more(self) -> bool:
        """Whether anything beyond what was read could go out without another word."""
        if self._schedule.horizon == 0 or self._is_reply_beyond() or self._is_idle():
            return True
        for name, lane in self._schedule.lanes.items():
            track = self._schedule.track_of(name)
            if track is None or lane.abandoned:
                continue
            if not track.queue and track.waits_for is None:
                return True
        return False

    def _is_reply_beyond(self) -> bool:
        """Whether a request of the connection that came is answered later in the recording."""
        waiting = self._schedule.lanes[None].open.values()
        return any((step.response_seq or 0) > self._schedule.horizon for _, step in waiting)

    def _is_idle(self) -> bool:
        """Whether there is no session yet, and nothing on the connection to wait for."""
        schedule = self._schedule
        return (
            len(schedule.lanes) == 1
            and not schedule.connection.waiting
            and not schedule.lanes[None].open
        )

    def _look_for_trouble(self, at: int) -> Iterator[Command]:
        """Looks for messages that will not come any more, and for a conversation that stands."""
        if self._is_settled(at):
            for lane in list(self._schedule.lanes.values()):
                if lane.is_overtaken and not lane.abandoned:
                    yield from self._miss(lane, at)
            while self._relax():
                yield from self._play(at)
        limit = self.stage.options.stall_ns
        if (
            limit is not None
            and at - (self._moved_at or 0) >= limit
            and self._is_waiting()
            and not any(self._player.waiting_for_time(at))
        ):
            self._stall(at)
            self.is_over = True
            yield Finish()

    def _miss(self, lane: Lane, at: int) -> Iterator[Command]:
        missing = lane.awaited
        lane.is_overtaken = False
        if missing is None:
            return
        lane.missed.add(missing.key)
        divergence = self.stage.divergences.note(
            DivergenceKind.MISSING_EXPECTED,
            lane,
            f"the client never sent {missing.title} #{missing.seq}, but what came after it",
            at,
            seq=missing.seq,
            of_handshake=missing.method in HANDSHAKE,
        )
        if self.stage.options.lenient:
            self._player.skip(lane, missing)
            self.stage.match(lane, missing, at)
            yield from self._play(at)
        elif missing.response_seq is not None and missing.response_seq == self._schedule.handshake:
            for each in list(self._schedule.lanes.values()):
                yield from self.stage.abandon(each, divergence)
        else:
            yield from self.stage.abandon(lane)

    def _relax(self) -> bool:
        """Lets go what waits for a request that a client may leave out; False if nothing does."""
        optional = {s.key for s in self._schedule.lanes[None].expected if s.can_be_left_out}
        passed = self._schedule.connection.relax(optional)
        for track in self._schedule.tracks.values():
            step = track.waits_for
            if step is not None and step.can_be_left_out and step.exchange is not None:
                self._schedule.let_pass[step.exchange] = step.key
                passed.add(step.key)
        self._schedule.passed_over |= passed
        return bool(passed)

    def _waits_for_optional(self) -> bool:
        steps = (track.waits_for for track in self._schedule.tracks.values())
        return any(step is not None and step.can_be_left_out for step in steps)

    def _is_waiting(self) -> bool:
        """Whether the client owes something that was recorded."""
        return any(lane.awaited for lane in self._schedule.lanes.values() if not lane.abandoned)

    def _stall(self, at: int) -> None:
        waiting = [
            lane for lane in self._schedule.lanes.values() if lane.awaited and not lane.abandoned
        ]
        for lane in waiting:
            missing = lane.awaited
            assert missing is not None
            seconds = (self.stage.options.stall_ns or 0) / NS_PER_S
            self.stage.divergences.note(
                DivergenceKind.STALL,
                lane,
                f"nothing came for {seconds:g} s; the recording expected"
                f" {missing.method or missing.kind} #{missing.seq}",
                at,
                seq=missing.seq,
            )

    def _end(self, at: int) -> Iterator[Command]:
        """The client is gone: what it still owed is missing, and the rest is unplayed."""
        yield from self._play(at, at_once=True)
        while self._schedule.read_on():
            yield from self._play(at, at_once=True)
        while self._relax():
            yield from self._play(at, at_once=True)
        self._ending.note_missing(at)
        self._ending.note_unplayed(at)
        self._ending.note_harmless(at)
        self.is_over = True
        yield Finish()

    def _end_by_itself(self, at: int) -> Iterator[Command]:
        """The recorded agent ended here; the client may leave out what it has not sent."""
        self._ending.note_harmless(at)
        self.is_over = True
        yield Finish()

    def _give_up(self, at: int) -> Iterator[Command]:
        """The client reads nothing any more, so that nothing can reach it."""
        seconds = (self.stage.options.stall_ns or 0) / NS_PER_S
        summary = f"the client has not read what it was sent for {seconds:g} s"
        self.stage.divergences.note(DivergenceKind.STALL, self._schedule.lanes[None], summary, at)
        self.is_over = True
        yield Finish()

    def _next_moment(self, at: int) -> int | None:
        moments = [ready.due for ready in self._player.waiting_for_time(at) if ready.due > at]
        is_paced = bool(moments)
        if any(lane.is_overtaken and not lane.abandoned for lane in self._schedule.lanes.values()):
            moments.append(self._input_at + SETTLE_NS)
        waits = self._schedule.connection.waiting or self._waits_for_optional()
        if not self._is_settled(at) and (waits or self._ending.is_near):
            moments.append(self._input_at + SETTLE_NS)
        if not is_paced and self.stage.options.stall_ns is not None and self._is_waiting():
            moments.append((self._moved_at or 0) + self.stage.options.stall_ns)
        return min((moment for moment in moments if moment > at), default=None)
