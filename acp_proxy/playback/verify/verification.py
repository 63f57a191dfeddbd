"""The verification engine: plays the recorded client to a live agent.

After each event, the engine sends every frame that may be sent. The verification is over in any of
these cases:

- Everything was sent, every recorded answer has come, and the agent's last output is complete or
  nothing came for a while.
- The agent leaves, stalls or floods the client.
- The time limit has passed.
"""

from collections.abc import Iterator

from acp_proxy.playback.events import (
    Command,
    EndOfInput,
    Event,
    Finish,
    LineReceived,
    PartReceived,
    WakeAt,
    WriteStalled,
)
from acp_proxy.playback.shared.divergence import DivergenceKind
from acp_proxy.playback.shared.playback_options import NS_PER_S
from acp_proxy.playback.verify.agent_messages import AgentMessages
from acp_proxy.playback.verify.client_sender import ClientSender
from acp_proxy.playback.verify.lane import ClientLane
from acp_proxy.playback.verify.recorded_client import RecordedClient
from acp_proxy.playback.verify.verify_requests import VerifyOptions, VerifyState

_LONGEST_NS = 10 * NS_PER_S
"""How long the client waits for the end, in nanoseconds, while the agent goes on sending."""


class Verification:
    """One connection, played from the client's side.

    Attributes:
        stall_ns: nanoseconds without progress that count as a stall; None for no limit.
        is_over: whether the verification is over; later messages of the agent may still be fed.
        has_left: whether the agent ended its output before the verification was over.
        is_hopeless: whether the agent stalled, flooded the client or took too long, so that
            waiting is useless.
    """

    def __init__(self, recording: RecordedClient, options: VerifyOptions) -> None:
        self.state = VerifyState(recording, options)
        self.messages = AgentMessages(self.state)
        self.sender = ClientSender(self.state)
        self.stall_ns = options.stall_ns
        self.is_over = False
        self.has_left = False
        self.is_hopeless = False
        self._has_begun = False
        self._times_out_at: int | None = None
        self._part = 0
        """The size of an unfinished line so far."""
        self._ends_since: int | None = None
        self._unfinished = [*recording.lanes.values()]
        """Lanes that may still have something to send or to wait for."""
        self._incomplete: ClientLane | None = None
        """A lane whose last messages had not come at the previous check."""
        self._silence_ns = max(lane.end.silence_ns for lane in recording.lanes.values())

    @property
    def is_played_out(self) -> bool:
        """Whether everything was sent, and every recorded answer has come."""
        was_given_up = any(lane.is_abandoned for lane in self.state.recording.lanes.values())
        return self._is_done and not was_given_up

    @property
    def last_activity(self) -> int:
        """When either side last sent anything."""
        return self.state.patience.last_activity

    @property
    def awaited(self) -> str:
        """A short description of the awaited message."""
        return self.state.pending.awaited

    def feed(self, event: Event) -> Iterator[Command]:
        """Processes an event and yields commands; take all commands before the next event."""
        self._begin(event.at)
        sent: Iterator[Command] = iter(())
        if isinstance(event, PartReceived):
            self._note_bytes(event.size)
            self._part += event.size
        elif isinstance(event, LineReceived):
            self._note_bytes(len(event.raw) - self._part)
            self._part = 0
            sent = self.messages.take(event.raw)
        if self.is_over:
            for _ in sent:  # nothing is sent any more, but divergences are reported
                pass
            return
        yield from sent
        if isinstance(event, EndOfInput):
            self.has_left = True
            self._end()
            yield Finish()
            return
        yield from self.sender.send_ready()
        if isinstance(event, WriteStalled):
            self._stall("the agent has not read what it was sent")
        else:
            self._look_for_end()
        yield Finish() if self.is_over else WakeAt(self._next_moment())

    def _begin(self, at: int) -> None:
        self.state.patience.now = at
        self.state.divergences.set_time(at)
        if not self._has_begun:
            self._has_begun = True
            self.state.patience.note_activity()
            self.state.note_unasked()
            if (limit := self.state.options.timeout_ns) is not None:
                self._times_out_at = at + limit

    def _note_bytes(self, size: int) -> None:
        self.state.output.recent_bytes += size
        self.state.patience.note_activity()

    def _look_for_end(self) -> None:
        state, now = self.state, self.state.now
        ends_at, limit = self._times_out_at, self.stall_ns
        if ends_at is not None and now >= ends_at:
            self._time_out()
        elif state.output.is_flood(state.recording.frames):
            # A divergence with a new lane object is primary, and is kept even if there are many
            # divergences.
            lane = ClientLane(state.pending.lane.name)
            summary = state.output.flood_summary
            state.divergences.note(DivergenceKind.FLOOD, lane, summary, of_handshake=True)
            self._give_up()
        elif self._is_done:
            if self._ends_since is None:
                self._ends_since = now
            self.is_over = self._is_complete() or now >= self._ends_at()
        else:
            self._ends_since = None
            is_silent = limit is not None and state.patience.silence >= limit
            # If pacing delays a frame, the silence is not the fault of the agent.
            if is_silent and self.sender.conditions.next_moment() is None:
                self._stall(f"nothing came for {(limit or 0) / NS_PER_S:g} s")

    @property
    def _is_done(self) -> bool:
        """Whether nothing is missing except, perhaps, the agent's last messages."""
        if self.state.pending.first_seq is not None:
            return False
        while self._unfinished and self._unfinished[-1].is_done:
            self._unfinished.pop()
        return not self._unfinished

    def _is_complete(self) -> bool:
        """Whether the agent's last output is at least as large as in the recording.

        Returns False if a request of the agent is open, or if the recorded agent left by itself.
        """
        if self.state.recording.script.agent_left_at is not None or self.state.answers:
            return False
        if self._incomplete is not None and not self._incomplete.is_complete:
            return False
        lanes = self.state.recording.lanes.values()
        self._incomplete = next((lane for lane in lanes if not lane.is_complete), None)
        return self._incomplete is None

    def _ends_at(self) -> int:
        """Returns when the verification ends if no more messages come."""
        settle_ns = self.state.patience.after_silence(self._silence_ns)
        longest = (self._ends_since or 0) + _LONGEST_NS + settle_ns
        return min(self.state.patience.last_activity + settle_ns, longest)

    def _time_out(self) -> None:
        """Ends the verification at the time limit.

        If only the agent's last messages are missing, no stall is reported.
        """
        if self._is_done:
            self.is_over = True
        else:
            limit = (self.state.options.timeout_ns or 0) / NS_PER_S
            self._stall(f"the run was not over after {limit:g} s, the limit of --timeout")

    def _stall(self, what: str) -> None:
        pending, now = self.state.pending, self.state.now
        items = pending.items
        waits = (f"{it} has not come for {(now - of.at) / NS_PER_S:.1f} s" for it, of in items[:3])
        self.state.divergences.note(
            DivergenceKind.STALL,
            pending.lane,
            "; ".join([what, *waits]),
            seq=items[0][1].step.seq if items else None,
            # The stall is the cause of unsent frames in every lane, as a failed handshake is.
            of_handshake=True,
        )
        self._give_up()

    def _give_up(self) -> None:
        """Ends the verification now, and reports the frames that were not sent."""
        for lane in self.state.recording.lanes.values():
            self.state.note_unsent(lane.queue.frames)
        self.is_over = self.is_hopeless = True

    def _end(self) -> None:
        """Ends the verification because the agent left; reports an agent that left too early."""
        self.is_over = True
        if self._is_done:
            return
        left_at = self.state.recording.script.agent_left_at
        unsent = (
            frame
            for lane in self.state.recording.lanes.values()
            for frame in lane.queue.frames
            if left_at is None or frame.seq < left_at
        )
        if open_requests := self.state.pending.requests:
            first = open_requests[0]
            lane, seq = first.lane, first.step.seq
            summary = f"the agent left before it had answered {first.step.title} #{seq}"
        elif (frame := next(unsent, None)) is not None:
            lane, seq = frame.lane, frame.seq
            summary = f"the agent left before {frame.title} was sent"
        else:
            return
        self.state.divergences.note(DivergenceKind.AGENT_LEFT, lane, summary, seq=seq)

    def _next_moment(self) -> int | None:
        moments = [self.sender.conditions.next_moment(), self._times_out_at]
        if self._ends_since is not None:
            moments.append(self._ends_at())
        elif self.stall_ns is not None:
            moments.append(self.last_activity + self.stall_ns)
        later = (moment for moment in moments if moment is not None and moment > self.state.now)
        return min(later, default=None)
