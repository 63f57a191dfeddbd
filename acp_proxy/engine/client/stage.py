"""What all parts of a verification share: the recording, what is open, and the departures."""

from collections import Counter
from collections.abc import Mapping

from attrs import define, field, frozen

from acp_proxy.engine.bindings import Bindings
from acp_proxy.engine.client.answering import Answering, free
from acp_proxy.engine.client.lane import ClientLane, Line
from acp_proxy.engine.client.plot import Plot
from acp_proxy.engine.client.questions import Question
from acp_proxy.engine.comparison import Comparer
from acp_proxy.engine.divergence import Departure
from acp_proxy.engine.judge import Judge
from acp_proxy.engine.pacing import NS_PER_S, Pacing
from acp_proxy.engine.script import Step
from acp_proxy.engine.splice import Place
from acp_proxy.engine.story import Order

SETTLE_NS = NS_PER_S
"""How long the agent is silent, at least, before nobody waits for what need not come."""
_MANY_TIMES = 10
"""How many times as long somebody waits while the agent says other things."""
_LONGEST_NS = 60 * NS_PER_S


@frozen
class Options:
    """How to play the client.

    Attributes:
        order: what is kept of the recorded order.
        pacing: how long the client thinks.
        lenient: whether a request is answered with the nearest recorded one of its method.
        ignored: JSON pointers into the agent's requests that do not count.
        rewrite_text: whether to put live directories into texts, too.
        roots: what to call the directories that the recorded client chose.
        stall_ns: how long nothing may come while something has to; None for ever.
    """

    order: Order = Order.SESSION
    pacing: Pacing = field(factory=Pacing)
    lenient: bool = False
    ignored: tuple[str, ...] = ()
    rewrite_text: bool = False
    roots: Mapping[str, str] = field(factory=dict)
    stall_ns: int | None = 30 * NS_PER_S


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
    """

    options: Options
    plot: Plot
    bindings: Bindings
    judge: Judge = field(factory=Judge)
    open: dict[str, list[Open]] = field(factory=dict)
    answered: dict[str, ClientLane] = field(factory=dict)
    opening: list[Open] = field(factory=list)
    asked: dict[int, Asked] = field(factory=dict)
    unanswered: dict[int, Asked] = field(factory=dict)
    answering: Answering = field(factory=Answering)
    by_session: dict[str, ClientLane] = field(factory=dict)
    unplaced: Counter[str] = field(factory=Counter)
    """How much came for sessions of which nobody knows yet whose they are."""
    now: int = 0
    """The moment of the latest event."""
    spoken_at: int = 0
    last: ClientLane = field(init=False)
    lines: int = 0
    lines_at_progress: int = 0
    """How many lines had come when the agent last answered, or asked for what was recorded."""
    bytes_since: int = 0
    """How much has come since then."""
    refused: int = 0
    """How many requests were refused since then."""
    sent: int = 0
    turns: int = 0
    """Prompts that were answered."""

    def __attrs_post_init__(self) -> None:
        self.last = self.plot.lanes[None]

    @property
    def comparer(self) -> Comparer:
        """Compares recorded messages with live ones."""
        return Comparer(self.bindings, self.options.ignored)

    def patience(self, silence_ns: int) -> int:
        """How long to wait for what need not come, when the agent was once silent for so long."""
        stall = self.options.stall_ns
        longest = _LONGEST_NS if stall is None else stall // 2
        return min(max(SETTLE_NS, 2 * silence_ns), longest)

    def has_waited(self, line: Line, at: int) -> bool:
        """Whether nobody waits any longer for what need not come before a line."""
        patience = self.patience(line.silence_ns)
        since = line.waits_since if line.waits_since is not None else at
        return at - self.spoken_at >= patience or at - since >= _MANY_TIMES * patience

    def ask(self, asked: Asked, at: int) -> None:
        """Takes a request that was recorded; its answer goes out when its time has come."""
        ask = asked.question.ask
        asked.question.is_made = True
        self.progress()
        if ask.reply_seq is None:
            self.unanswered[ask.exchange] = asked
            return
        self.asked[ask.exchange] = asked
        reply = self.plot.replies.get(ask.exchange)
        if reply is None or reply.line.seq not in reply.lane.answers:
            return
        lane, line = reply.lane, reply.line
        if line.waits_since is None:  # or else another one of its batch was asked for
            line.waits_since = at
            patience = self.patience(line.silence_ns)
            self.answering.add(lane, line, patience, at + _MANY_TIMES * patience)
            if self.options.order is Order.CAUSAL:
                free(lane, line)

    def waits_until(self, line: Line) -> int:
        """When `has_waited` will hold, if nothing comes."""
        patience = self.patience(line.silence_ns)
        return min(self.spoken_at + patience, (line.waits_since or 0) + _MANY_TIMES * patience)

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
        lane.heard += self.unplaced.pop(live, 0)

    def give_up(self, lane: ClientLane, at: int) -> None:
        """Says nothing more in a lane, and tells how much that is."""
        if lane.poisoned:
            return
        lane.poisoned = True
        left = [*lane.lines]
        for line in (*lane.lines, *lane.answers.values()):
            for step in line.steps:
                if step.exchange is not None:
                    self.plot.settle(step.exchange)
        lane.trailing_idles = 0
        lane.clear()
        if left:
            what = "message was" if len(left) == 1 else "messages were"
            summary = f"{len(left)} {what} not sent, from {left[0].title} #{left[0].seq} on"
            self.judge.note(Departure.UNPLAYED, lane, summary, at, seq=left[0].seq)
