"""The verification engine: the recorded client, played to a live agent.

After each event all is said that may be said. It is over when everything is said, every recorded
answer has come, and so much more as the recorded agent said at last, or nothing for a while; when
the agent leaves; when it stalls or floods; or when it has taken too long, whatever happens.
"""

from collections.abc import Iterator

from acp_proxy.commands import Command, Finish, WakeAt
from acp_proxy.engine.client.agent_messages import AgentMessages
from acp_proxy.engine.client.known_files import Files
from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.pending import PendingAnswers
from acp_proxy.engine.client.recorded_client import RecordedClient
from acp_proxy.engine.client.sender import ClientSender
from acp_proxy.engine.client.state import Stage, VerifyOptions
from acp_proxy.engine.shared.bindings import Bindings
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.divergence_log import DivergenceLog
from acp_proxy.engine.shared.pacing import NS_PER_S
from acp_proxy.engine.shared.report_text import counted
from acp_proxy.events import EndOfInput, Event, LineReceived, WriteStalled

_FLOOD_LINES, _FLOOD_TIMES = 100_000, 10
"""How many lines may come without an answer, at least; and as a multiple of all recorded frames."""
_FLOOD_BYTES = 256 << 20
_FLOOD_REFUSALS = 1000
"""How many requests may be refused while nothing else comes of it."""
_LONGEST_NS = 10 * NS_PER_S
"""How long the end is waited for, at most, while the agent says other things."""


class Verification:
    """One connection, played from the client's side.

    Args:
        plot: the recording; of no other verification.
        options: how to play it.

    Attributes:
        stage: all that is known of it.
        is_over: whether nothing will be said any more; what the agent still says may be fed.
        has_left: whether the agent ended its output before that.
        is_hopeless: whether the agent stalled or flooded, or took too long, and nothing good comes
            of it any more.
        debts: what the agent owes.
    """

    def __init__(self, recording: RecordedClient, options: VerifyOptions) -> None:
        self.stage = Stage(options, recording, Bindings(roots=dict(options.roots)))
        self.is_over = False
        self.has_left = False
        self.is_hopeless = False
        self.debts = PendingAnswers(self.stage)
        files = Files()
        self._agent_messages = AgentMessages(self.stage, files)
        self._sender = ClientSender(self.stage, files)
        self._began: int | None = None
        self._part = 0
        """How much has come of a line that has not ended."""
        self._ends_since: int | None = None
        self._unfinished = [*recording.lanes.values()]
        """Lanes, as far as is known, in which something is left to be said or waited for."""
        self._unheard: ClientLane | None = None
        """One in which last words lacked when somebody last looked."""
        self._silence_ns = max(lane.silence_ns for lane in recording.lanes.values())

    @property
    def divergences(self) -> DivergenceLog:
        """The divergences of the agent."""
        return self.stage.divergences

    @property
    def is_played_out(self) -> bool:
        """Whether all was said, and every recorded answer has come."""
        was_given_up = any(lane.abandoned for lane in self.stage.recording.lanes.values())
        return self._nothing_left and not was_given_up

    @property
    def _nothing_left(self) -> bool:
        """Whether nothing is said or waited for any more but last words."""
        if self.stage.recording.first_owed is not None:
            return False
        while self._unfinished and self._unfinished[-1].is_done:
            self._unfinished.pop()
        return not self._unfinished

    @property
    def unsaid(self) -> int:
        """How many of the client's messages were not said, answers to nothing among them."""
        lanes = self.stage.recording.lanes.values()
        return self.stage.given_up + sum(len(lane.lines) + len(lane.answers) for lane in lanes)

    def feed(self, event: Event) -> Iterator[Command]:
        """Takes an event and yields what to do; all of it, before the next event is fed."""
        at = event.at
        self._begin(at)
        said: Iterator[Command] = iter(())
        if isinstance(event, LineReceived):
            self._hear(len(event.raw) - self._part, at)
            self._part = 0
            said = self._agent_messages.take(event.raw, at)
        if self.is_over:
            for _ in said:  # nobody answers any more, but it is told
                pass
            return
        yield from said
        if isinstance(event, EndOfInput):
            self.has_left = True
            self._end(at)
            yield Finish()
            return
        yield from self._go_on(at, is_deaf=isinstance(event, WriteStalled))

    def feed_part(self, size: int, at: int) -> Iterator[Command]:
        """Takes notice of bytes of a line that has not ended: the agent says something.

        Args:
            size: how many have come.
            at: when.
        """
        self._begin(at)
        self._hear(size, at)
        self._part += size
        if not self.is_over:
            yield from self._go_on(at)

    def _begin(self, at: int) -> None:
        self.stage.now = at
        if self._began is None:
            self._began = self.stage.spoken_at = at
            self.stage.divergences.begin(at)

    def _hear(self, size: int, at: int) -> None:
        self.stage.bytes_since += size
        self.stage.spoken_at = at

    def _go_on(self, at: int, *, is_deaf: bool = False) -> Iterator[Command]:
        """Says what may be said now, and sees whether it is over."""
        yield from self._sender.say(at)
        if is_deaf:
            self._stall(at, "the agent has not read what it was sent")
        else:
            self._look_for_end(at)
        yield Finish() if self.is_over else WakeAt(self._next_moment(at))

    def _look_for_end(self, at: int) -> None:
        ends_at = self._times_out_at
        if ends_at is not None and at >= ends_at:
            self._time_out(at)
        elif self._is_flooded():
            lines = self.stage.lines - self.stage.lines_at_progress
            summary = (
                f"the agent wrote {counted(lines, 'line')} and {self.stage.bytes_since} bytes"
                f" without an answer to anything; {self.stage.refused} of its requests were refused"
            )
            # Of a lane of its own, as it were: it is told however much was told of that one before.
            lane = ClientLane(self.debts.lane.name)
            self.stage.divergences.note(DivergenceKind.FLOOD, lane, summary, at, of_handshake=True)
            self._give_up(at)
        elif self._nothing_left:
            if self._ends_since is None:
                self._ends_since = at
            self.is_over = self._has_heard_all() or at >= self._ends_at()
        else:
            self._ends_since = None
            limit = self.stage.options.stall_ns
            if limit is not None and at - self.stage.spoken_at >= limit and self._is_waiting(at):
                self._stall(at, f"nothing came for {limit / NS_PER_S:g} s")

    def _is_waiting(self, at: int) -> bool:
        """Whether it is the agent's turn, and not a line's whose time will come."""
        return self._sender.causes.next_moment(at) is None

    def _is_flooded(self) -> bool:
        most = max(_FLOOD_LINES, _FLOOD_TIMES * self.stage.recording.frames)
        lines = self.stage.lines - self.stage.lines_at_progress
        if self.stage.refused >= _FLOOD_REFUSALS or self.stage.bytes_since > _FLOOD_BYTES:
            return True
        return lines > most

    def _has_heard_all(self) -> bool:
        """Whether all came that the recorded agent said at last, or more."""
        if self.stage.recording.agent_left_at is not None or self._owes_an_answer:
            return False
        if self._unheard is not None and not self._unheard.has_heard_all:
            return False
        lanes = self.stage.recording.lanes.values()
        self._unheard = next((lane for lane in lanes if not lane.has_heard_all), None)
        return self._unheard is None

    @property
    def _owes_an_answer(self) -> bool:
        """Whether the client has something to answer, and did so in the recording."""
        return bool(self.stage.asked)

    def _ends_at(self) -> int:
        """When the end has come, if nothing comes until then."""
        patience = self.stage.patience(self._silence_ns)
        longest = (self._ends_since or 0) + _LONGEST_NS + patience
        return min(self.stage.spoken_at + patience, longest)

    @property
    def _times_out_at(self) -> int | None:
        limit = self.stage.options.timeout_ns
        return None if limit is None else (self._began or 0) + limit

    def _time_out(self, at: int) -> None:
        """It has taken too long; that is nobody's fault if only the agent's last words lack."""
        if self._nothing_left:
            self.is_over = True
            return
        limit = (self.stage.options.timeout_ns or 0) / NS_PER_S
        self._stall(at, f"it was not over after {limit:g} s, which is the --timeout")

    def _stall(self, at: int, what: str) -> None:
        debts = self.debts.all
        seq = debts[0].seq if debts else None
        summary = "; ".join([what, *(debt.told(at) for debt in debts[:3])])
        # As after a handshake that failed, what was not said in any lane follows from this.
        self.stage.divergences.note(
            DivergenceKind.STALL, self.debts.lane, summary, at, seq=seq, of_handshake=True
        )
        self._give_up(at)

    def _give_up(self, at: int) -> None:
        """Ends it where it is, and tells what was not said."""
        for lane in self.stage.recording.lanes.values():
            self.stage.tell_unsaid(lane, lane.lines, at)
        self.is_over = self.is_hopeless = True

    def _end(self, at: int) -> None:
        """The agent has left: as in the recording, when all was said, or too early."""
        self.is_over = True
        if self._nothing_left:
            return
        left_at = self.stage.recording.agent_left_at
        unsaid = [
            (lane, line)
            for lane in self.stage.recording.lanes.values()
            for line in lane.lines
            if left_at is None or line.seq < left_at
        ]
        owed = self.debts.answers
        if not owed and not unsaid:
            return
        if owed:
            lane, seq = owed[0].lane, owed[0].step.seq
            summary = f"the agent left before it had answered {owed[0].step.title} #{seq}"
        else:
            lane, seq = unsaid[0][0], unsaid[0][1].seq
            summary = f"the agent left before {unsaid[0][1].title} #{seq} was sent"
        self.stage.divergences.note(DivergenceKind.AGENT_LEFT, lane, summary, at, seq=seq)

    def _next_moment(self, at: int) -> int | None:
        moments = [self._sender.causes.next_moment(at)]
        if self._ends_since is not None:
            moments.append(self._ends_at())
        elif self.stage.options.stall_ns is not None:
            moments.append(self.stage.spoken_at + self.stage.options.stall_ns)
        moments.append(self._times_out_at)
        return min((moment for moment in moments if moment is not None and moment > at),
                   default=None)  # fmt: skip
