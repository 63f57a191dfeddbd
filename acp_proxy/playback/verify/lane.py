"""A lane of the recorded client: the frames to send, its turns, and the agent's progress."""

from bisect import insort
from collections import deque
from collections.abc import Iterable, Mapping
from heapq import heappop

from attrs import define, evolve, field, frozen

from acp_proxy.playback.verify.recorded_requests import RecordedRequests
from acp_proxy.playback.verify.stream_progress import ProgressMark, StreamProgress, TotalProgress
from acp_proxy.protocol.dialects import CANCEL, CANCEL_REQUEST
from acp_proxy.recording.steps import Step


@frozen
class ReceivedBefore:
    """How much the recorded client had received when it sent a frame."""

    mark: ProgressMark = field(factory=ProgressMark)
    """How much the agent had sent in the lane since the last request, answer or end of a turn."""
    total: TotalProgress = field(factory=TotalProgress)
    """How much the agent had sent in all lanes."""
    turn_ends: int = 0
    """How many turns of the lane had been ended by an update, in v2."""
    is_turn_open: bool = False
    silence_ns: int = 0
    """The longest silence of the agent in the lane while `mark` was counted."""


@define(eq=False)
class ClientFrame:
    """A recorded frame of the client, and the conditions that hold it back."""

    lane: "ClientLane"
    seq: int
    t_ns: int
    steps: list[Step]
    """A single step, or the members of a batch."""
    previous_ns: int = 0
    """When the previous frame of this lane passed in the recording."""
    before: ReceivedBefore = field(factory=ReceivedBefore)
    waits_since: int | None = field(default=None, init=False)
    """Since when only optional messages hold the frame back, in nanoseconds."""
    ready_at: int | None = field(default=None, init=False)
    """Since when only pacing holds the frame back, in nanoseconds."""
    is_released: bool = field(default=False, init=False)
    """Whether the frame is an answer that waits for nothing except, perhaps, pacing."""
    early_because: str | None = field(default=None, init=False)
    """Why the frame is sent although some optional messages have not come."""

    def __lt__(self, other: "ClientFrame") -> bool:
        return self.seq < other.seq

    @property
    def is_answer(self) -> bool:
        """Whether the frame only answers requests of the agent."""
        return all(s.is_reply and s.exchange is not None for s in self.steps)

    @property
    def cancels(self) -> Step | None:
        """The frame's only step if this step is a cancellation, else None."""
        step = self.steps[0]
        is_cancel = step.kind == "notification" and step.method in (CANCEL, CANCEL_REQUEST)
        return step if is_cancel and len(self.steps) == 1 else None

    @property
    def title(self) -> str:
        """The name of the frame in reports, with its number."""
        name = self.steps[0].title if len(self.steps) == 1 else "a batch"
        return f"{name} #{self.seq}"

    def part(self, steps: list[Step]) -> "ClientFrame":
        """Returns some members of a batch as a new frame that has not waited yet."""
        return evolve(self, steps=steps)

    def start_waiting(self, at: int) -> None:
        """Notes that only optional messages hold the frame back; only the first call counts."""
        if self.waits_since is None:
            self.waits_since = at


class SendQueue:
    """The frames that the client still has to send in one lane.

    Answers to the agent are in a separate queue. An answer is sent as soon as the agent has made
    the request and other conditions hold; without the request, the answer is never sent.

    Attributes:
        frames: the frames that are not only answers, in recorded order.
        answers: the frames that only answer the agent, by number.
        asked: a heap of the answers that the agent has asked for, some of them released.
        released: the answers that wait for nothing except, perhaps, pacing; in recorded order.
        discarded: how many frames were given up.
    """

    def __init__(self, frames: Iterable[ClientFrame] = ()) -> None:
        self.frames: deque[ClientFrame] = deque()
        self.answers: dict[int, ClientFrame] = {}
        self.asked: list[ClientFrame] = []
        self.released: list[ClientFrame] = []
        self.discarded = 0
        for frame in frames:
            if frame.is_answer:
                self.answers[frame.seq] = frame
            else:
                self.frames.append(frame)

    def __len__(self) -> int:
        return len(self.frames) + len(self.answers)

    @property
    def first(self) -> ClientFrame | None:
        """The next frame that is not an answer."""
        return self.frames[0] if self.frames else None

    @property
    def first_asked(self) -> ClientFrame | None:
        """The first answer that the agent has asked for and that is not released yet."""
        while self.asked and self.asked[0].is_released:
            heappop(self.asked)
        return self.asked[0] if self.asked else None

    def release(self, frame: ClientFrame) -> None:
        """Marks an answer as waiting only for pacing, so that it is sent when it is due."""
        frame.is_released = True
        insort(self.released, frame)

    def take(self, frame: ClientFrame) -> None:
        """Removes a frame that is sent now: the first frame or a released answer."""
        if frame.seq in self.answers:
            del self.answers[frame.seq]
            self.released.remove(frame)
        else:
            self.frames.popleft()

    def discard(self) -> list[ClientFrame]:
        """Gives up all frames and returns them, answers last."""
        left = [*self.frames, *self.answers.values()]
        for frame in self.answers.values():
            frame.is_released = True  # so that the queues of all lanes drop the frame
        self.discarded += len(left)
        for queue in (self.frames, self.answers, self.asked, self.released):
            queue.clear()
        return left


@frozen(eq=False)
class SentRequest:
    """An open request of the client, with the lane, and with the time when it was sent."""

    step: Step
    lane: "ClientLane"
    at: int


@define
class TurnState:
    """The open turns of one lane, and the number of turns that updates have ended."""

    prompts: dict[int, SentRequest] = field(factory=dict)
    """The prompts of the open turns, by exchange."""
    recorded_ends: list[int] = field(factory=list)
    """The numbers of the recorded updates that ended turns, in v2."""
    ended: int = 0
    """How many turns were ended by updates of the live agent."""
    is_cancelled: bool = False
    """Whether the client has cancelled the open turn."""
    _cancelled_at: int = 0

    @property
    def is_open(self) -> bool:
        """Whether a turn is open."""
        return bool(self.prompts)

    @property
    def awaits_end(self) -> bool:
        """Whether a recorded update that ends a turn has not come yet."""
        return self.ended < len(self.recorded_ends)

    @property
    def recorded_end(self) -> int | None:
        """The number of the recorded update that ended the open turns, in v2; None without one."""
        latest = max(prompt.step.seq for prompt in self.prompts.values())
        return next((seq for seq in self.recorded_ends if seq > latest), None)

    def open(self, prompt: SentRequest) -> None:
        """Opens a turn."""
        self.prompts[prompt.step.exchange or 0] = prompt
        self.is_cancelled = False

    def close(self, exchange: int) -> None:
        """Closes a turn whose prompt was answered, in v1."""
        self.prompts.pop(exchange, None)
        self.is_cancelled = self.is_cancelled and self.is_open

    def end(self) -> int | None:
        """Ends the open turns, in v2; returns the number of the recorded update that ended them."""
        recorded_end = self.recorded_end
        self.prompts.clear()
        self.ended, self.is_cancelled = self.ended + 1, False
        return recorded_end

    def cancel(self, seq: int) -> None:
        """Notes that the client's message with this number cancels the open turn."""
        self.is_cancelled, self._cancelled_at = True, seq

    def was_cancelled_after(self, seq: int) -> bool:
        """Whether the turn was cancelled by a message that was recorded after a frame."""
        return self.is_cancelled and seq < self._cancelled_at


@frozen
class LaneEnd:
    """The recorded output of a lane after its last request, answer or end of a turn."""

    mark: ProgressMark = field(factory=ProgressMark)
    states: Mapping[str, int] = field(factory=dict)
    """The kinds of state updates in this output, each with the number of its updates in the
    lane."""
    silence_ns: int = 0
    """The longest silence of the agent within this output, in nanoseconds."""


@define(eq=False)
class ClientLane:
    """The state of one lane; `name` is the recorded session's id, or None for the connection."""

    name: str | None
    queue: SendQueue = field(factory=SendQueue)
    requests: RecordedRequests = field(factory=RecordedRequests)
    """The requests that the agent has not made yet."""
    turns: TurnState = field(factory=TurnState)
    progress: StreamProgress = field(factory=StreamProgress)
    end: LaneEnd = field(factory=LaneEnd)
    is_abandoned: bool = False
    """Whether the lane was abandoned, so that no more frames are sent there."""

    @property
    def title(self) -> str:
        """The name of the lane in reports."""
        return self.name or "connection"

    @property
    def waiting(self) -> ClientFrame | None:
        """The frame that only optional messages hold back, if any."""
        frame = self.queue.first
        waits = frame is not None and frame.waits_since is not None and frame.ready_at is None
        return frame if waits else None

    @property
    def is_done(self) -> bool:
        """Whether the turns have ended, and nothing is left to send except answers to the agent."""
        return self.queue.first is None and not self.turns.awaits_end

    @property
    def is_complete(self) -> bool:
        """Whether the agent has sent all that the whole lane expects of it.

        The agent must have sent all awaited requests, and at least the recorded amount of output
        and of state updates. An abandoned lane is always complete.
        """
        if self.is_abandoned:
            return True
        if self.progress.mark < self.end.mark or self.requests.first_awaited is not None:
            return False
        return all(self.progress.states[kind] >= count for kind, count in self.end.states.items())

    def abandon(self) -> list[ClientFrame]:
        """Abandons the lane; returns the frames that will not be sent, answers last."""
        self.is_abandoned = True
        self.turns.recorded_ends.clear()  # the ends of turns are not awaited any more
        self.requests.clear()
        return self.queue.discard()
