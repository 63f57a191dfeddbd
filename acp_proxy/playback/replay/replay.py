"""The replay engine plays a recorded agent to a client: it gets events and yields commands.

After each line of the client, the engine sends every frame that the recording allows, lowest
recorded number first. The engine has no clock and no randomness: each event has its time. So the
same events give the same bytes.
"""

from collections.abc import Iterator

from attrs import define

from acp_proxy.base.wording import counted
from acp_proxy.playback.events import (
    Command,
    EndOfInput,
    Event,
    Finish,
    LineReceived,
    Started,
    WakeAt,
    WriteStalled,
)
from acp_proxy.playback.replay.client_messages import ClientMessages
from acp_proxy.playback.replay.frame_sender import AgentSender
from acp_proxy.playback.replay.lanes import Lane
from acp_proxy.playback.replay.replay_state import ReplayOptions, ReplayState
from acp_proxy.playback.shared.divergence import DivergenceKind
from acp_proxy.playback.shared.playback_options import NS_PER_S
from acp_proxy.protocol.dialects import HANDSHAKE
from acp_proxy.recording.steps import Script, Step

SETTLE_NS = 10**9
"""After this many nanoseconds of silence, a message counts as missing and not as reordered."""


class Replay:
    """The replay of one connection. Each replay needs a `Script` of its own."""

    def __init__(self, script: Script, options: ReplayOptions) -> None:
        self.state = state = ReplayState(script, options)
        self.is_over = False
        """Whether the output is over."""
        self.sender = AgentSender(state)
        self._scheduler = state.scheduler
        self._messages = ClientMessages(state, self.sender)
        self._ending = ReplayEnding(state)
        self._progress = Progress(options.stall_ns)
        self._schedule = state.schedule

    @property
    def lines(self) -> int:
        """How many lines the client has sent."""
        return self._messages.lines

    @property
    def unplayed(self) -> int:
        """How many frames of the agent were read, but neither sent nor completely withheld."""
        return self._schedule.frames - self.sender.passed

    @property
    def is_played_out(self) -> bool:
        """Whether all frames went out and all messages came.

        Missing optional messages and their unsent answers do not count.
        """
        is_awaited = any(lane.first_missing for lane in self._schedule.lanes.values())
        is_sent = self.unplayed == self._scheduler.left_out
        return self._schedule.is_whole and is_sent and not is_awaited

    def feed(self, event: Event) -> Iterator[Command]:
        """Processes an event and yields commands; take all commands before the next event."""
        self._schedule.now = event.at
        if self.is_over:
            return
        self.state.divergences.set_time(event.at)
        self._progress.begin(event.at)
        if isinstance(event, LineReceived | Started):
            self._progress.note_input(event.at)
        if isinstance(event, LineReceived):
            yield from self._messages.take(event.raw)
        yield from self._play()
        if isinstance(event, EndOfInput):
            yield from self._end()
        elif isinstance(event, WriteStalled):
            yield from self._give_up()
        else:
            yield from self._look_for_missing()
            yield from self._look_for_stall()
        if not self.is_over and self._ending.has_come(is_settled=self._is_settled):
            self._ending.note_harmless()
            yield self._finish()
        if not self.is_over:
            yield WakeAt(self._next_moment())

    def note_lost(self, raw: bytes, rule: str) -> None:
        """Notes that a fault dropped a line of the client.

        Args:
            raw: the line, without its newline.
            rule: the rule that dropped the line.
        """
        self._messages.lose(raw, rule)

    def _play(self, *, at_once: bool = False) -> Iterator[Command]:
        """Sends all frames that can be sent now; with ``at_once`` even if they are not due."""
        while True:
            while (ready := self._scheduler.next(at_once=at_once)) is not None:
                self._progress.moved_at = self._schedule.now
                yield from self.sender.send(ready)
            if not self._scheduler.read_if_needed():
                return

    @property
    def _is_settled(self) -> bool:
        return self._schedule.now >= self._progress.settles_at

    @property
    def _waiting(self) -> list[tuple[Lane, Step]]:
        """Returns the lanes that wait for the client, with the message that each waits for."""
        awaited = ((lane, lane.first_missing) for lane in self._schedule.live_lanes)
        return [(lane, step) for lane, step in awaited if step is not None]

    def _look_for_missing(self) -> Iterator[Command]:
        """After a silence, reports skipped messages; stops waiting for optional messages."""
        if not self._is_settled:
            return
        lanes = self._schedule.live_lanes if self._schedule.overtaken else []
        for lane in [lane for lane in lanes if lane.is_overtaken]:
            if not lane.abandoned:
                yield from self._skip_message(lane)
        while self._schedule.stop_waiting_for_optional():
            yield from self._play()

    def _skip_message(self, lane: Lane) -> Iterator[Command]:
        """Reports a lane's missing message; skips it if `lenient` is set, else abandons the lane.

        A request that a fault dropped is skipped without a report.
        """
        missing = lane.note_missing()
        if missing is None:
            return
        is_lost = missing.key in lane.lost
        if is_lost and missing.kind == "request":
            yield from self._go_on_without(missing)
        if is_lost:
            return
        divergence = self.state.divergences.note(
            DivergenceKind.MISSING_EXPECTED,
            lane,
            f"the client skipped {missing.title} #{missing.seq}, and sent a later message",
            seq=missing.seq,
            of_handshake=missing.method in HANDSHAKE,
        )
        if self.state.options.lenient:
            yield from self._go_on_without(missing)
        elif missing.response_seq is not None and missing.response_seq == self._schedule.handshake:
            for each in list(self._schedule.lanes.values()):
                yield from self._messages.handler.abandon(each, divergence)
        else:
            yield from self._messages.handler.abandon(lane)

    def _go_on_without(self, missing: Step) -> Iterator[Command]:
        self._schedule.skip(missing)
        self._schedule.match(missing)
        yield from self._play()

    def _look_for_stall(self) -> Iterator[Command]:
        """Ends a replay that waits for the client and has made no progress for too long."""
        stalls_at = self._progress.stalls_at
        is_due = stalls_at is not None and self._schedule.now >= stalls_at
        if not is_due or any(self._scheduler.ready_frames()):
            return
        if waiting := self._waiting:
            for lane, step in waiting:
                what = f"{step.method or step.kind} #{step.seq}"
                is_lost = step.key in lane.lost
                why = f"a fault dropped {what}" if is_lost else f"the recording expected {what}"
                summary = f"nothing came for {self._stall_s:g} s; {why}"
                self.state.divergences.note(DivergenceKind.STALL, lane, summary, seq=step.seq)
            yield self._finish()

    @property
    def _stall_s(self) -> float:
        return (self.state.options.stall_ns or 0) / NS_PER_S

    def _end(self) -> Iterator[Command]:
        """Ends the replay because the client left; reports missing messages and unplayed frames."""
        self._schedule.gave_up_at = None
        self._schedule.wake_all()
        yield from self._play(at_once=True)
        while self._schedule.read_on():
            yield from self._play(at_once=True)
        while self._schedule.stop_waiting_for_optional():
            yield from self._play(at_once=True)
        self._ending.note_missing()
        self._ending.note_unplayed()
        self._ending.note_harmless()
        yield self._finish()

    def _give_up(self) -> Iterator[Command]:
        """Ends the replay because the client does not read any more."""
        summary = f"for {self._stall_s:g} s, the client has not read what it was sent"
        self.state.divergences.note(DivergenceKind.STALL, self._schedule.lanes[None], summary)
        yield self._finish()

    def _finish(self) -> Finish:
        self.is_over = True
        return Finish()

    def _next_moment(self) -> int | None:
        """Returns the next time when a frame is due, a message is missing, or the replay stalls."""
        now = self._schedule.now
        moments = [ready.due for ready in self._scheduler.ready_frames() if ready.due > now]
        is_paced = bool(moments)
        waits = self._schedule.connection.waiting or self._schedule.optional_waits
        is_overtaken = any(e.is_overtaken and not e.abandoned for e in self._schedule.overtaken)
        if is_overtaken or waits or self._ending.is_near:
            moments.append(self._progress.settles_at)
        stalls_at = self._progress.stalls_at
        is_awaited = any(lane.first_missing is not None for lane in self._schedule.expecting)
        if not is_paced and stalls_at is not None and is_awaited:
            moments.append(stalls_at)
        return min((moment for moment in moments if moment > now), default=None)


class Progress:
    """Measures two silences: since the last input, and since the last input or output."""

    def __init__(self, stall_ns: int | None) -> None:
        self._stall_ns = stall_ns
        self._input_at: int | None = None
        self.moved_at = 0
        """When a message last came or a frame last went out, in nanoseconds."""

    def begin(self, at: int) -> None:
        """Starts to measure silence; further calls change nothing."""
        if self._input_at is None:
            self.note_input(at)

    def note_input(self, at: int) -> None:
        """Notes that a message came, or that messages can come from now on."""
        self._input_at = self.moved_at = at

    @property
    def settles_at(self) -> int:
        """The time from which a message that has not come counts as missing, not as reordered."""
        return (self._input_at or 0) + SETTLE_NS

    @property
    def stalls_at(self) -> int | None:
        """The time when the replay stalls if it makes no progress until then; None for never."""
        return None if self._stall_ns is None else self.moved_at + self._stall_ns


@define(eq=False)
class ReplayEnding:
    """Decides when a replayed agent ends, and logs the frames that were not played by then.

    The ending of the recorded agent decides:

    - If a signal or the end of its input ended the recorded agent, the replayed agent stays until
      its client stops it.
    - If the recorded agent ended by itself, the replayed agent ends after its last frame. While
      recorded messages of the client are missing, the replayed agent first waits for a long
      silence.
    """

    _state: ReplayState

    @property
    def is_near(self) -> bool:
        """Whether the replay has reached the point where the recorded agent ended by itself.

        Optional messages of the client may still be missing.
        """
        if self._state.script.agent_left_at is None or not self._state.schedule.is_whole:
            return False
        awaited = (lane.first_missing for lane in self._state.schedule.expecting)
        if any(
            step is not None and step.seq < self._state.script.agent_left_at for step in awaited
        ):
            return False
        lanes = self._state.schedule.live_lanes
        return not any(True for lane in lanes for _ in self._state.scheduler.unsent(lane))

    def has_come(self, *, is_settled: bool) -> bool:
        """Returns whether the replayed agent ends by itself now.

        Args:
            is_settled: whether the client's silence is too long to be explained by reordering.
        """
        return self.is_near and (is_settled or not self._is_more_expected())

    def note_missing(self) -> None:
        """Logs the messages that the recorded client has sent and the live client has not sent."""
        for lane in self._state.schedule.live_lanes:
            missing = [step for step in lane.missing() if step.key not in lane.lost]
            if not missing or missing[0].key in lane.missed:
                continue
            first, more = missing[0], len(missing) - 1
            summary = f"the client left without sending {first.title} #{first.seq}"
            self._state.divergences.note(
                DivergenceKind.MISSING_EXPECTED,
                lane,
                summary + (f" and {more} more" if more else ""),
                seq=first.seq,
                of_handshake=any(step.method in HANDSHAKE for step in missing),
            )

    def note_unplayed(self) -> None:
        """Logs how many frames of each lane never went out."""
        for lane in self._state.schedule.live_lanes:
            if left := [*self._state.scheduler.unsent(lane)]:
                summary = f"the replay did not send {counted(len(left), 'frame')} of the agent"
                self._state.divergences.note(DivergenceKind.UNPLAYED, lane, summary, seq=left[0])

    def note_harmless(self) -> None:
        """Logs, for information, missing optional messages, and requests never answered.

        The recording does not answer these requests, either.
        """
        for lane in self._state.schedule.live_lanes:
            for step in lane.expected:
                if step.is_optional and not step.is_push and step.key not in lane.lost:
                    self._note_left_out(lane, step)
            self._note_output(lane, [step for step in lane.expected if step.is_push])
            for request in self._state.requests.open_in(lane):
                step = request.step
                if step.response_seq is None:
                    summary = f"{step.title} #{step.seq} was never answered, as in the recording"
                    self._state.divergences.note(
                        DivergenceKind.UNANSWERED, lane, summary, seq=step.seq
                    )

    def _is_more_expected(self) -> bool:
        """Whether any message is missing that the recorded agent received before its end."""
        left_at = self._state.script.agent_left_at or 0
        lanes = self._state.schedule.expecting
        return any(step.seq < left_at for lane in lanes for step in lane.expected)

    def _note_output(self, lane: Lane, pieces: list[Step]) -> None:
        """Logs the missing pieces of a terminal's output as one entry, which counts them."""
        if pieces:
            what = counted(len(pieces), "recorded piece")
            summary = f"{what} of terminal output did not come, and no answer to them was played"
            self._note_not_sent(lane, pieces[0], summary)

    def _note_left_out(self, lane: Lane, step: Step) -> None:
        what = step.method or "the line that is no message,"
        summary = f"the client never sent {what} #{step.seq}, which is optional"
        if step.response_seq is not None:
            summary += f"; its answer #{step.response_seq} was not played"
        elif not step.is_awaited:
            return
        self._note_not_sent(lane, step, summary)

    def _note_not_sent(self, lane: Lane, step: Step, summary: str) -> None:
        kind = DivergenceKind.MISSING_EXPECTED
        self._state.divergences.note(kind, lane, summary, seq=step.seq, is_harmless=True)
