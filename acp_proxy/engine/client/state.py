"""What all parts of a verification share: the recording, what is open, and the divergences."""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define, field, frozen

from acp_proxy.engine.client.answer_queue import Answering, free
from acp_proxy.engine.client.lane import ClientLane, Line
from acp_proxy.engine.client.permission_match import Leave
from acp_proxy.engine.client.recorded_client import RecordedClient
from acp_proxy.engine.client.recorded_requests import Question
from acp_proxy.engine.client.stream_progress import Meter, Total
from acp_proxy.engine.shared.bindings import Bindings
from acp_proxy.engine.shared.comparison import Comparer
from acp_proxy.engine.shared.divergence import DivergenceKind
from acp_proxy.engine.shared.divergence_log import DivergenceLog
from acp_proxy.engine.shared.pacing import NS_PER_S
from acp_proxy.engine.shared.playback_options import Order, PlaybackOptions
from acp_proxy.engine.shared.steps import Step
from acp_proxy.protocol.splice import Place

_SETTLE_NS, _TIMES = 5 * NS_PER_S, 5
"""How long the agent is silent, at least, before nobody waits for what need not come; and how many
times as long as the recorded one was."""
_ANSWER_NS, _LATE_ANSWER_NS = NS_PER_S, 5 * NS_PER_S
"""The same for an answer to the agent, which may wait for it; and for one that was given late."""
_MANY_TIMES = 10
"""How many times as long somebody waits while the agent says other things."""
_WITHOUT_STALL_NS = 300 * NS_PER_S
"""What counts as a stall there, if nothing is one."""


@frozen(kw_only=True)
class VerifyOptions(PlaybackOptions):
    """How to play the client.

    A lenient client answers a request with the nearest recorded one of its method, and a permission
    request that is described by its title alone with the one of that title.

    Attributes:
        roots: the live names of the directories that the recorded client chose.
        timeout_ns: nanoseconds that the whole verification may take; None for no limit.
    """

    roots: Mapping[str, str] = field(factory=dict)
    timeout_ns: int | None = None


@define(eq=False)
class Open:
    """A request of the client's that the live agent has not answered."""

    step: Step
    lane: ClientLane
    at: int
    """When it went out."""


@define(eq=False)
class Asked:
    """A live request of the agent's whose recorded answer has not gone out yet."""

    question: Question
    token: str
    raw: bytes
    at: int
    scope: Any = None
    """What a permission request asks leave for, as of `Leave.live`."""


@define
class Stage:
    """The state of one verification.

    Attributes:
        open: the client's requests without an answer, oldest first, by their id's token.
        answered: lanes of requests that were answered, by their id's token.
        opening: sent requests that create a session which has no live name yet.
        asked: what is to be answered, by the exchange of the recorded request.
        unanswered: what was never answered in the recording, likewise.
        answering: when the answers go out.
        by_session: lanes by their live session.
        last: the lane in which somebody spoke last.
        spoken_at: when anybody last said anything.
        lines: how many lines the agent has sent.
        sent: how many frames the client has sent.
        given_up: how many it will not, since their lane was given up.
    """

    options: VerifyOptions
    recording: RecordedClient
    bindings: Bindings
    divergences: DivergenceLog = field(factory=DivergenceLog)
    open: dict[str, list[Open]] = field(factory=dict)
    answered: dict[str, ClientLane] = field(factory=dict)
    opening: list[Open] = field(factory=list)
    asked: dict[int, Asked] = field(factory=dict)
    unanswered: dict[int, Asked] = field(factory=dict)
    answering: Answering = field(factory=Answering)
    by_session: dict[str, ClientLane] = field(factory=dict)
    unplaced: dict[str, Meter] = field(factory=dict)
    """What came for sessions of which nobody knows yet whose they are."""
    now: int = 0
    """The moment of the latest event."""
    spoken_at: int = 0
    last: ClientLane = field(init=False)
    comparer: Comparer = field(init=False)
    """Compares recorded messages with live ones."""
    leave: Leave = field(init=False)
    """Compares what permission requests ask leave for."""
    lines: int = 0
    total: Total = field(factory=Total)
    """How much the agent has said in all."""
    lines_at_progress: int = 0
    """How many lines had come when the agent last answered, or asked for what was recorded."""
    bytes_since: int = 0
    """How much has come since then."""
    refused: int = 0
    """How many requests were refused since then."""
    sent: int = 0
    given_up: int = 0
    turns: int = 0
    """Prompts that were answered."""
    pauses: list[tuple[int, int]] = field(factory=list)
    """From when to when a line was held back for what has never come."""

    def __attrs_post_init__(self) -> None:
        self.last = self.recording.lanes[None]
        self.comparer = Comparer(self.bindings, self.options.ignored)
        self.leave = Leave(self.recording, self.bindings)

    def patience(self, silence_ns: int) -> int:
        """How long to wait for what need not come, when the agent was once silent for so long."""
        return min(max(_SETTLE_NS, _TIMES * silence_ns), self._longest)

    @property
    def _longest(self) -> int:
        """How long to wait for what need not come, so that it is not taken for a stall."""
        stall = self.options.stall_ns
        return (_WITHOUT_STALL_NS if stall is None else stall) * 9 // 10

    def waits_until(self, lane: ClientLane, line: Line) -> int:
        """When nobody waits any longer for what need not come before a line, if it does not.

        While a turn goes on the agent owes more; only a stall would tell that nothing comes.
        """
        patience = self._longest if lane.prompts else self.patience(line.silence_ns)
        since = max(line.waits_since or 0, lane.grew_at)
        return min(self.spoken_at + patience, since + _MANY_TIMES * patience)

    def waited(self, lane: ClientLane, line: Line, at: int) -> str:
        """Why nobody waits any longer for what need not come before a line, in a few words."""
        silence = at - self.spoken_at
        since = at - max(line.waits_since or 0, lane.grew_at)
        if silence * _MANY_TIMES >= since:
            return f"nothing came for {silence / NS_PER_S:.1f} s"
        return f"other things came for {since / NS_PER_S:.1f} s"

    def note_pause(self, lane: ClientLane, line: Line, at: int) -> None:
        """Notes since when a line that goes out now was held back for what has never come."""
        since = max(line.waits_since or 0, lane.grew_at)
        is_silence = (at - self.spoken_at) * _MANY_TIMES >= at - since
        start = self.spoken_at if is_silence else since
        if start < at:
            self.pauses.append((start, at))

    def _patience_of_answer(self, silence_ns: int) -> int:
        """How long an answer waits for its place; the agent may do nothing until it comes."""
        late = min(_MANY_TIMES * silence_ns, _LATE_ANSWER_NS)
        return min(max(_ANSWER_NS, 2 * silence_ns, late), self._longest)

    def ask(self, asked: Asked, at: int) -> None:
        """Takes a request that was recorded; its answer goes out when its time has come."""
        ask = asked.question.ask
        asked.question.is_made = True
        self.progress()
        if ask.reply_seq is None:
            self.unanswered[ask.exchange] = asked
            return
        self.asked[ask.exchange] = asked
        reply = self.recording.replies.get(ask.exchange)
        if reply is None or reply.line.seq not in reply.lane.answers:
            return
        lane, line = reply.lane, reply.line
        if line.waits_since is None:  # or else another one of its batch was asked for
            line.waits_since = at
            patience = self._patience_of_answer(line.silence_ns)
            self.answering.add(lane, line, patience, at + _MANY_TIMES * patience)
            if self.options.order is Order.CAUSAL:
                free(lane, line)

    def progress(self) -> None:
        """Notes that the agent did something that the story needs."""
        self.lines_at_progress = self.lines
        self.bytes_since = self.refused = 0

    def bind(self, lane: ClientLane, live: str) -> None:
        """Learns what the live agent calls a session."""
        if lane.name is None:
            return
        self.bindings.bind(Place.SESSION, lane.name, live)
        self.by_session[live] = lane
        if (heard := self.unplaced.pop(live, None)) is not None:
            lane.heard.states.update(heard.states)  # all else is counted from here on

    def give_up(self, lane: ClientLane, at: int) -> None:
        """Says nothing more in a lane, and tells how much that is."""
        if lane.abandoned:
            return
        lane.abandoned = True
        left = [*lane.lines]
        self.given_up += len(left) + len(lane.answers)
        for line in (*lane.lines, *lane.answers.values()):
            for step in line.steps:
                if step.exchange is not None:
                    self.recording.settle(step.exchange)
        lane.trailing_idles = 0
        lane.clear()
        self.tell_unsaid(lane, left, at)

    def tell_unsaid(self, lane: ClientLane, left: Sequence[Line], at: int) -> None:
        """Tells which messages of a lane were not sent, if any."""
        if left:
            what = "message was" if len(left) == 1 else "messages were"
            summary = f"{len(left)} {what} not sent, from {left[0].title} #{left[0].seq} on"
            self.divergences.note(DivergenceKind.UNPLAYED, lane, summary, at, seq=left[0].seq)
