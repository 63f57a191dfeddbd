"""The verification engine: plays the recorded client to a live agent.

After each event it sends every frame that may be sent. It is over when everything was sent, every
recorded answer has come, and as much more as the recorded agent sent at last, or nothing for a
while; when the agent leaves; when it stalls or floods the client; or after the time limit.
"""

from collections.abc import Iterator

from acp_proxy.commands import Command, Finish, WakeAt
from acp_proxy.engine.client.agent_messages import AgentMessages
from acp_proxy.engine.client.known_files import KnownFiles
from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.recorded_client import RecordedClient
from acp_proxy.engine.client.sender import ClientSender
from acp_proxy.engine.client.state import VerifyOptions, VerifyState
from acp_proxy.engine.shared.divergence import DivergenceKind, DivergenceLog
from acp_proxy.engine.shared.playback_options import NS_PER_S
from acp_proxy.events import EndOfInput, Event, LineReceived, PartReceived, WriteStalled

_LONGEST_NS = 10 * NS_PER_S
"""How long the client waits for the end, at most, while the agent sends other messages."""


class Verification:
    """One connection, played from the client's side.

    Args:
        recording: the recording; no other verification may use the same object.
        options: how to play it.

    Attributes:
        state: the state of the verification.
        is_over: whether nothing more is sent; further messages of the agent may be fed.
        has_left: whether the agent ended its output before that.
        is_hopeless: whether the agent stalled or flooded, or took too long, so that there is no
            reason to wait for it.
    """

    def __init__(self, recording: RecordedClient, options: VerifyOptions) -> None:
        self.state = VerifyState(recording, options)
        self.is_over = False
        self.has_left = False
        self.is_hopeless = False
        files = KnownFiles()
        self._agent_messages = AgentMessages(self.state, files)
        self._sender = ClientSender(self.state, files)
        self._began: int | None = None
        self._part = 0
        """How much has come of a line that has not ended."""
        self._ends_since: int | None = None
        self._unfinished = [*recording.lanes.values()]
        """Lanes, as far as is known, in which something is left to send or to wait for."""
        self._incomplete: ClientLane | None = None
        """One in which last messages were missing at the last look."""
        self._silence_ns = max(lane.end.silence_ns for lane in recording.lanes.values())

    @property
    def divergences(self) -> DivergenceLog:
        """The divergences of the agent."""
        return self.state.divergences

    @property
    def is_played_out(self) -> bool:
        """Whether everything was sent, and every recorded answer has come."""
        was_given_up = any(lane.is_abandoned for lane in self.state.recording.lanes.values())
        return self._is_done and not was_given_up

    @property
    def unsent(self) -> int:
        """How many of the client's frames were not sent, answers to no request among them."""
        queues = (lane.queue for lane in self.state.recording.lanes.values())
        return sum(queue.discarded + len(queue) for queue in queues)

    @property
    def stall_ns(self) -> int | None:
        """Nanoseconds without progress that count as a stall; None for no limit."""
        return self.state.options.stall_ns

    @property
    def last_activity(self) -> int:
        """When either side last sent anything."""
        return self.state.patience.last_activity

    @property
    def awaited(self) -> str:
        """What the client waits for, in a few words."""
        return self.state.pending.awaited

    @property
    def pauses(self) -> list[tuple[int, int]]:
        """From when to when frames were held back for messages that have never come."""
        return self.state.patience.pauses

    @property
    def sent(self) -> int:
        """How many frames were sent."""
        return self._sender.sent

    @property
    def turns(self) -> int:
        """How many prompts were answered."""
        return self._agent_messages.turns

    def feed(self, event: Event) -> Iterator[Command]:
        """Takes an event and yields what to do; all of it, before the next event is fed."""
        at = event.at
        self._begin(at)
        sent: Iterator[Command] = iter(())
        if isinstance(event, PartReceived):
            self._note_bytes(event.size, at)
            self._part += event.size
        elif isinstance(event, LineReceived):
            self._note_bytes(len(event.raw) - self._part, at)
            self._part = 0
            sent = self._agent_messages.take(event.raw, at)
        if self.is_over:
            for _ in sent:  # nothing is sent any more, but divergences are reported
                pass
            return
        yield from sent
        if isinstance(event, EndOfInput):
            self.has_left = True
            self._end(at)
            yield Finish()
            return
        yield from self._continue(at, has_write_stalled=isinstance(event, WriteStalled))

    def _begin(self, at: int) -> None:
        self.state.patience.note_event(at)
        if self._began is None:
            self._began = at
            self.state.patience.note_activity(at)
            self.state.divergences.begin(at)

    def _note_bytes(self, size: int, at: int) -> None:
        self.state.output.add_bytes(size)
        self.state.patience.note_activity(at)

    def _continue(self, at: int, *, has_write_stalled: bool) -> Iterator[Command]:
        """Sends what may be sent now, and decides whether it is over."""
        yield from self._sender.send_ready(at)
        if has_write_stalled:
            self._stall(at, "the agent has not read what it was sent")
        else:
            self._look_for_end(at)
        yield Finish() if self.is_over else WakeAt(self._next_moment(at))

    def _look_for_end(self, at: int) -> None:
        state = self.state
        ends_at, limit = self._times_out_at, state.options.stall_ns
        if ends_at is not None and at >= ends_at:
            self._time_out(at)
        elif state.output.is_flood(state.recording.frames):
            # A lane object of its own, so that it is reported after any number of divergences.
            lane = ClientLane(state.pending.lane.name)
            summary = state.output.flood_summary
            state.divergences.note(DivergenceKind.FLOOD, lane, summary, at, of_handshake=True)
            self._give_up(at)
        elif self._is_done:
            if self._ends_since is None:
                self._ends_since = at
            self.is_over = self._is_complete() or at >= self._ends_at()
        else:
            self._ends_since = None
            is_silent = limit is not None and at - state.patience.last_activity >= limit
            # A frame may still be due later, by pacing; then it is not the agent that is silent.
            if is_silent and self._sender.conditions.next_moment(at) is None:
                self._stall(at, f"nothing came for {(limit or 0) / NS_PER_S:g} s")

    @property
    def _is_done(self) -> bool:
        """Whether nothing is left to send or to wait for but last messages."""
        if self.state.pending.first_seq is not None:
            return False
        while self._unfinished and self._unfinished[-1].is_done:
            self._unfinished.pop()
        return not self._unfinished

    def _is_complete(self) -> bool:
        """Whether all came that the recorded agent sent last, or more."""
        if self.state.recording.agent_left_at is not None or self.state.answers:
            return False
        if self._incomplete is not None and not self._incomplete.is_complete:
            return False
        lanes = self.state.recording.lanes.values()
        self._incomplete = next((lane for lane in lanes if not lane.is_complete), None)
        return self._incomplete is None

    def _ends_at(self) -> int:
        """When the end has come, if nothing comes until then."""
        settle_ns = self.state.patience.after_silence(self._silence_ns)
        longest = (self._ends_since or 0) + _LONGEST_NS + settle_ns
        return min(self.state.patience.last_activity + settle_ns, longest)

    @property
    def _times_out_at(self) -> int | None:
        limit = self.state.options.timeout_ns
        return None if limit is None else (self._began or 0) + limit

    def _time_out(self, at: int) -> None:
        """Ends it after the time limit; this is no stall if only last messages are missing."""
        if self._is_done:
            self.is_over = True
            return
        limit = (self.state.options.timeout_ns or 0) / NS_PER_S
        self._stall(at, f"it was not over after {limit:g} s, which is the --timeout")

    def _stall(self, at: int, what: str) -> None:
        items = self.state.pending.items
        seq = items[0].seq if items else None
        summary = "; ".join([what, *(item.described(at) for item in items[:3])])
        # As after a handshake that failed, what was not sent in any lane follows from this.
        self.state.divergences.note(
            DivergenceKind.STALL, self.state.pending.lane, summary, at, seq=seq, of_handshake=True
        )
        self._give_up(at)

    def _give_up(self, at: int) -> None:
        """Ends it where it is, and reports what was not sent."""
        for lane in self.state.recording.lanes.values():
            self.state.note_unsent(lane, lane.queue.frames, at)
        self.is_over = self.is_hopeless = True

    def _end(self, at: int) -> None:
        """Ends it when the agent has left: after everything, as in the recording, or too early."""
        self.is_over = True
        if self._is_done:
            return
        left_at = self.state.recording.agent_left_at
        unsent = [
            (lane, frame)
            for lane in self.state.recording.lanes.values()
            for frame in lane.queue.frames
            if left_at is None or frame.seq < left_at
        ]
        open_requests = self.state.pending.requests
        if not open_requests and not unsent:
            return
        if open_requests:
            lane, seq = open_requests[0].lane, open_requests[0].step.seq
            title = open_requests[0].step.title
            summary = f"the agent left before it had answered {title} #{seq}"
        else:
            lane, seq = unsent[0][0], unsent[0][1].seq
            summary = f"the agent left before {unsent[0][1].title} #{seq} was sent"
        self.state.divergences.note(DivergenceKind.AGENT_LEFT, lane, summary, at, seq=seq)

    def _next_moment(self, at: int) -> int | None:
        moments = [self._sender.conditions.next_moment(at), self._times_out_at]
        if self._ends_since is not None:
            moments.append(self._ends_at())
        elif self.state.options.stall_ns is not None:
            moments.append(self.state.patience.last_activity + self.state.options.stall_ns)
        later = (moment for moment in moments if moment is not None and moment > at)
        return min(later, default=None)
