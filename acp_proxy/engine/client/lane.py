"""A lane of the recorded client: what it says there, what it was asked, and what is heard now."""

from collections import Counter, deque

from attrs import define, field

from acp_proxy.engine.client.questions import Questions
from acp_proxy.engine.divergence import Divergence
from acp_proxy.engine.script import CANCEL, CANCEL_REQUEST, Step

_REPLIES = ("response", "error")


@define(eq=False)
class Line:
    """A frame of the client's, and what had been heard when it said that.

    Attributes:
        steps: one, or the members of a batch.
        after_ns: when the frame before it in its lane passed, in the recording.
        frames: what the agent had said in its lane since the last request or answer there.
        heard: what the agent had said in all.
        idles: how many turns of its lane an update had ended, in v2.
        is_turn_open: whether a prompt of its lane had no answer yet.
        silence_ns: the longest that the agent had been silent in its lane, in the same time.
        free_at: when it was first found that it may go out, but for its time.
        waits_since: when it was first found to wait for nothing that has to come.
        is_free: whether it is an answer that only its time holds back, if anything does.
    """

    seq: int
    t_ns: int
    steps: list[Step]
    after_ns: int = 0
    frames: int = 0
    heard: int = 0
    idles: int = 0
    is_turn_open: bool = False
    silence_ns: int = 0
    free_at: int | None = None
    waits_since: int | None = None
    is_free: bool = False

    @property
    def answers_only(self) -> bool:
        """Whether all it does is answer what the agent asks."""
        return all(s.kind in _REPLIES and s.exchange is not None for s in self.steps)

    @property
    def cancels(self) -> Step | None:
        """What it cancels, if that is all it does."""
        step = self.steps[0]
        is_cancel = step.kind == "notification" and step.method in (CANCEL, CANCEL_REQUEST)
        return step if is_cancel and len(self.steps) == 1 else None

    @property
    def title(self) -> str:
        """How reports name it."""
        return self.steps[0].title if len(self.steps) == 1 else "a batch"


@define(eq=False)
class ClientLane:
    """What is known of one lane while it is played.

    Attributes:
        name: the recorded session's id, None for the connection.
        lines: what the client has not said yet, in recorded order, but for answers.
        answers: frames that only answer what the agent asks, by their numbers; not said yet.
        asked: those of them that the agent has asked for, a heap by their numbers.
        free: those that only their time holds back, in recorded order.
        questions: what the agent has not asked yet.
        used: how many recorded requests of each method the agent has made.
        trailing: how much the agent said at the end, as `Line.frames`.
        trailing_idles: as `Line.idles`.
        silence_ns: the longest that the recorded agent was silent at the end.
        heard: what the live agent has said since the last request or answer.
        idles: how many turns an update has ended.
        prompts: exchanges of the prompts that the live agent has not answered.
        is_cancelled: whether the client has cancelled the turn that is open.
        cancelled_at: the number of the message that did.
        is_made: whether the live agent has such a session.
        poisoned: whether it was given up, and nothing of it is said any more.
    """

    name: str | None
    lines: deque[Line] = field(factory=deque)
    answers: dict[int, Line] = field(factory=dict)
    asked: list[tuple[int, Line]] = field(factory=list)
    free: list[Line] = field(factory=list)
    questions: Questions = field(factory=Questions)
    used: Counter[str | None] = field(factory=Counter)
    trailing: int = 0
    trailing_idles: int = 0
    silence_ns: int = 0
    heard: int = 0
    idles: int = 0
    prompts: set[int] = field(factory=set)
    is_cancelled: bool = False
    cancelled_at: int = 0
    is_made: bool = False
    poisoned: bool = False
    has_diverged: bool = False
    reason: Divergence | None = None

    @property
    def title(self) -> str:
        """How reports name it."""
        return self.name or "connection"

    def sort(self) -> None:
        """Tells answers from what the client says of its own accord, when all has been read."""
        self.answers = {line.seq: line for line in self.lines if line.answers_only}
        self.lines = deque(line for line in self.lines if not line.answers_only)

    def drop(self, line: Line) -> None:
        """Takes out what is said now: the first line, or a free answer."""
        if line.seq in self.answers:
            del self.answers[line.seq]
            self.free.remove(line)
        else:
            self.lines.popleft()

    def clear(self) -> None:
        """Leaves nothing to be said."""
        for line in self.answers.values():
            line.is_free = True
        for held in (self.lines, self.answers, self.asked, self.free, self.questions):
            held.clear()

    @property
    def is_told(self) -> bool:
        """Whether all is said but for answers to what was not asked."""
        return not self.lines
