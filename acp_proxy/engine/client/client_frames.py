"""The client's frames: what it had received before each, and which are still to be sent."""

from bisect import insort
from collections import deque
from heapq import heappop, heappush
from operator import attrgetter

from attrs import define, evolve, field, frozen

from acp_proxy.engine.client.stream_progress import ProgressMark, TotalProgress
from acp_proxy.engine.shared.steps import Step
from acp_proxy.protocol.methods import CANCEL, CANCEL_REQUEST


@frozen
class ReceivedBefore:
    """What the recorded client had received when it sent a frame.

    Attributes:
        mark: how much the agent had sent in the frame's lane since the last request or answer
            there, or the end of a turn.
        total: how much it had sent in all lanes.
        turn_ends: how many turns of the lane an update had ended, in v2.
        is_turn_open: whether a prompt of the lane had no answer yet.
        silence_ns: the longest silence of the agent in the lane, since the same point as `mark`.
    """

    mark: ProgressMark = field(factory=ProgressMark)
    total: TotalProgress = field(factory=TotalProgress)
    turn_ends: int = 0
    is_turn_open: bool = False
    silence_ns: int = 0


@define(eq=False)
class ClientFrame:
    """A recorded frame of the client, and when it may be sent now.

    Attributes:
        seq: its number in the recording.
        t_ns: when it passed in the recording.
        steps: one, or the members of a batch.
        previous_ns: when the frame before it in its lane passed.
        before: what the recorded client had received before.
        ready_at: the moment from which only pacing holds it back; None before.
        waits_since: the moment from which only optional messages hold it back; None before.
        is_released: whether it is an answer that only pacing holds back, if anything does.
        early_because: why it is sent before all optional messages have come, if it is.
    """

    seq: int
    t_ns: int
    steps: list[Step]
    previous_ns: int = 0
    before: ReceivedBefore = field(factory=ReceivedBefore)
    ready_at: int | None = field(default=None, init=False)
    waits_since: int | None = field(default=None, init=False)
    is_released: bool = field(default=False, init=False)
    early_because: str | None = field(default=None, init=False)

    @property
    def is_answer(self) -> bool:
        """Whether it only answers requests of the agent."""
        return all(s.is_reply and s.exchange is not None for s in self.steps)

    @property
    def cancels(self) -> Step | None:
        """Its step, if that cancels something and is the only one."""
        step = self.steps[0]
        is_cancel = step.kind == "notification" and step.method in (CANCEL, CANCEL_REQUEST)
        return step if is_cancel and len(self.steps) == 1 else None

    @property
    def title(self) -> str:
        """Its name in reports."""
        return self.steps[0].title if len(self.steps) == 1 else "a batch"

    def part(self, steps: list[Step]) -> "ClientFrame":
        """Returns some members of a batch as a frame of their own, which has not waited yet."""
        return evolve(self, steps=steps)

    def start_waiting(self, at: int) -> None:
        """Notes that only optional messages hold it back; the first moment counts."""
        if self.waits_since is None:
            self.waits_since = at

    def set_ready(self, at: int) -> int:
        """Notes that only pacing holds it back; returns since when."""
        if self.ready_at is None:
            self.ready_at = at
        return self.ready_at

    def release(self) -> None:
        """Stops waiting for anything but pacing."""
        self.is_released = True

    def send_early(self, because: str) -> None:
        """Notes why it does not wait for optional messages any longer."""
        self.early_because = because


class SendQueue:
    """The frames that the client has still to send in one lane.

    Answers to the agent are kept apart: they may be sent as soon as the agent has asked and other
    conditions hold, and what the agent never asks is never answered.

    Attributes:
        frames: the frames that are no answers, in recorded order.
        answers: the frames that only answer the agent, by number.
        asked: a heap by number: the answers that the agent has asked for, some of them released.
        released: those of them that only pacing holds back, in recorded order.
        discarded: how many frames were given up.
    """

    def __init__(self) -> None:
        self.frames: deque[ClientFrame] = deque()
        self.answers: dict[int, ClientFrame] = {}
        self.asked: list[tuple[int, ClientFrame]] = []
        self.released: list[ClientFrame] = []
        self.discarded = 0

    def __len__(self) -> int:
        return len(self.frames) + len(self.answers)

    @property
    def first(self) -> ClientFrame | None:
        """The next frame that is no answer."""
        return self.frames[0] if self.frames else None

    @property
    def first_asked(self) -> ClientFrame | None:
        """The first answer that the agent has asked for and that still waits for anything else."""
        while self.asked and self.asked[0][1].is_released:
            heappop(self.asked)
        return self.asked[0][1] if self.asked else None

    def append(self, frame: ClientFrame) -> None:
        """Adds the next recorded frame."""
        self.frames.append(frame)

    def separate_answers(self) -> None:
        """Separates answers from other frames, when the lane was read to its end."""
        self.answers = {frame.seq: frame for frame in self.frames if frame.is_answer}
        self.frames = deque(frame for frame in self.frames if not frame.is_answer)

    def mark_asked(self, frame: ClientFrame) -> None:
        """Notes that the agent has asked for an answer."""
        heappush(self.asked, (frame.seq, frame))

    def release(self, frame: ClientFrame) -> None:
        """Lets an answer be sent when it is due."""
        frame.release()
        insort(self.released, frame, key=attrgetter("seq"))

    def take(self, frame: ClientFrame) -> None:
        """Removes a frame that is sent now: the first one, or a released answer."""
        if frame.seq in self.answers:
            del self.answers[frame.seq]
            self.released.remove(frame)
        else:
            self.frames.popleft()

    def postpone(self, answer: ClientFrame) -> None:
        """Adds the answers of a batch that the agent has not asked for yet."""
        self.answers[answer.seq] = answer

    def discard(self) -> list[ClientFrame]:
        """Gives up all frames, and returns them, those that are no answers first."""
        left = [*self.frames, *self.answers.values()]
        for frame in self.answers.values():
            frame.release()  # so that it leaves the queues over all lanes
        self.discarded += len(left)
        for held in (self.frames, self.answers, self.asked, self.released):
            held.clear()
        return left
