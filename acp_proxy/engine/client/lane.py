"""A lane of the recorded client: what it says there, what it was asked, and what is heard now."""

from bisect import bisect
from collections import deque

from attrs import define, field

from acp_proxy.engine.client.recorded_requests import Questions
from acp_proxy.engine.client.stream_progress import Extent, Meter, Total
from acp_proxy.engine.shared.steps import CANCEL, CANCEL_REQUEST, Step


@define(eq=False)
class Line:
    """A frame of the client's, and what had been heard when it said that.

    Attributes:
        steps: one, or the members of a batch.
        after_ns: when the frame before it in its lane passed, in the recording.
        extent: how much the agent had said in its lane since the last request or answer there, or
            the end of a turn.
        total: how much it had said in all.
        idles: how many turns of its lane an update had ended, in v2.
        is_turn_open: whether a prompt of its lane had no answer yet.
        silence_ns: the longest that the agent had been silent in its lane, in the same time.
        free_at: when it was first found that it may go out, but for its time.
        waits_since: when it was first found to wait for nothing that has to come.
        is_free: whether it is an answer that only its time holds back, if anything does.
        hurry: why it does not wait for all that it had waited for, if it does not.
    """

    seq: int
    t_ns: int
    steps: list[Step]
    after_ns: int = 0
    extent: Extent = field(factory=Extent)
    total: Total = field(factory=Total)
    idles: int = 0
    is_turn_open: bool = False
    silence_ns: int = 0
    free_at: int | None = None
    waits_since: int | None = None
    is_free: bool = False
    hurry: str | None = None

    @property
    def answers_only(self) -> bool:
        """Whether all it does is answer what the agent asks."""
        return all(s.is_reply and s.exchange is not None for s in self.steps)

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
        trailing: how much the agent said at the end, as `Line.extent`.
        trailing_states: of the kinds of state updates at the end, how many there were at all.
        trailing_idles: as `Line.idles`.
        ends: the numbers of the updates that ended turns.
        silence_ns: the longest that the recorded agent was silent at the end.
        heard: what the live agent has said, as `Line.extent`.
        grew_at: when it last said more there.
        idles: how many turns an update has ended.
        prompts: by exchange, prompts whose turns have not ended: number, and when it was sent.
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
    trailing: Extent = field(factory=Extent)
    trailing_states: dict[str, int] = field(factory=dict)
    trailing_idles: int = 0
    ends: list[int] = field(factory=list)
    silence_ns: int = 0
    heard: Meter = field(factory=Meter)
    grew_at: int = 0
    idles: int = 0
    prompts: dict[int, tuple[int, int]] = field(factory=dict)
    is_cancelled: bool = False
    cancelled_at: int = 0
    is_made: bool = False
    abandoned: bool = False

    @property
    def title(self) -> str:
        """How reports name it."""
        return self.name or "connection"

    @property
    def waiting(self) -> Line | None:
        """The message that waits for what need not come, if one does."""
        line = self.lines[0] if self.lines else None
        waits = line is not None and line.waits_since is not None and line.free_at is None
        return line if waits else None

    @property
    def is_done(self) -> bool:
        """Whether nothing is left but answers to what was not asked, and last words."""
        return not self.lines and self.idles >= self.trailing_idles

    @property
    def has_heard_all(self) -> bool:
        """Whether all has come that the recorded agent said at last, or more, or nobody minds."""
        if self.abandoned:
            return True
        if self.heard.extent < self.trailing or self.questions.first_awaited is not None:
            return False
        return all(self.heard.states[kind] >= count for kind, count in self.trailing_states.items())

    def end_after(self, seq: int) -> int | None:
        """The number of the update that ended the turn of a prompt; None if none did."""
        place = bisect(self.ends, seq)
        return self.ends[place] if place < len(self.ends) else None

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
