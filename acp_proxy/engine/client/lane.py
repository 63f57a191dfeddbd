"""A lane of the recorded client: what is left to do there, and how far the live agent has come."""

from bisect import bisect
from collections.abc import Mapping

from attrs import define, field, frozen

from acp_proxy.engine.client.client_frames import ClientFrame, SendQueue
from acp_proxy.engine.client.recorded_requests import RecordedRequests
from acp_proxy.engine.client.stream_progress import ProgressMark, StreamProgress


@frozen
class SentPrompt:
    """A prompt whose turn has not ended: its number, and when it was sent."""

    seq: int
    at: int


class TurnState:
    """The turns of one lane: which are open, and how many updates have ended one.

    Attributes:
        recorded_ends: the numbers of the recorded updates that ended turns, in v2.
        ended: how many turns an update of the live agent has ended.
        is_cancelled: whether the client has cancelled the open turn.
    """

    def __init__(self) -> None:
        self.recorded_ends: list[int] = []
        self.ended = 0
        self.is_cancelled = False
        self._prompts: dict[int, SentPrompt] = {}
        self._cancelled_at = 0
        self._is_abandoned = False

    @property
    def is_open(self) -> bool:
        """Whether a turn is open."""
        return bool(self._prompts)

    @property
    def prompts(self) -> Mapping[int, SentPrompt]:
        """The prompts of open turns, by exchange."""
        return self._prompts

    @property
    def awaits_end(self) -> bool:
        """Whether a recorded update that ends a turn has not come yet."""
        return not self._is_abandoned and self.ended < len(self.recorded_ends)

    def open(self, exchange: int, seq: int, at: int) -> None:
        """Opens a turn.

        Args:
            exchange: of its prompt.
            seq: the number of the prompt.
            at: when it was sent, in nanoseconds.
        """
        self._prompts[exchange] = SentPrompt(seq, at)
        self.is_cancelled = False

    def close(self, exchange: int) -> None:
        """Closes a turn whose prompt was answered, in v1."""
        self._prompts.pop(exchange, None)
        self.is_cancelled = self.is_cancelled and self.is_open

    def end(self) -> int | None:
        """Ends the open turns by an update, in v2.

        Returns:
            the number of the recorded update that ended them; None if there is none.
        """
        place = bisect(self.recorded_ends, max(prompt.seq for prompt in self._prompts.values()))
        self._prompts.clear()
        self.ended += 1
        self.is_cancelled = False
        return self.recorded_ends[place] if place < len(self.recorded_ends) else None

    def cancel(self, seq: int) -> None:
        """Cancels the open turn by the message of that number."""
        self.is_cancelled, self._cancelled_at = True, seq

    def was_cancelled_after(self, seq: int) -> bool:
        """Whether the turn was cancelled by a message that was recorded after a frame."""
        return self.is_cancelled and seq < self._cancelled_at

    def abandon(self) -> None:
        """Stops waiting for the ends of turns."""
        self._is_abandoned = True


@frozen
class LaneEnd:
    """What the recorded agent sent last in a lane.

    Attributes:
        mark: how much it sent there since the last request or answer, or the end of a turn.
        states: of the kinds of state updates since then, how many there were in the whole lane.
        silence_ns: its longest silence since then.
    """

    mark: ProgressMark = field(factory=ProgressMark)
    states: Mapping[str, int] = field(factory=dict)
    silence_ns: int = 0


@define(eq=False)
class ClientLane:
    """The state of one lane.

    Attributes:
        name: the recorded session's id, None for the connection.
        queue: what the client has still to send.
        requests: what the agent has not requested yet.
        turns: the turns of the lane.
        progress: what the live agent has sent.
        end: what the recorded agent sent last.
        is_abandoned: whether it was given up, and nothing more is sent there.
    """

    name: str | None
    queue: SendQueue = field(factory=SendQueue)
    requests: RecordedRequests = field(factory=RecordedRequests)
    turns: TurnState = field(factory=TurnState)
    progress: StreamProgress = field(factory=StreamProgress)
    end: LaneEnd = field(factory=LaneEnd)
    is_abandoned: bool = False

    @property
    def title(self) -> str:
        """Its name in reports."""
        return self.name or "connection"

    @property
    def waiting(self) -> ClientFrame | None:
        """The frame that only optional messages hold back, if there is one."""
        frame = self.queue.first
        waits = frame is not None and frame.waits_since is not None and frame.ready_at is None
        return frame if waits else None

    @property
    def is_done(self) -> bool:
        """Whether nothing is left but answers to requests that did not come, and last messages."""
        return self.queue.first is None and not self.turns.awaits_end

    @property
    def is_complete(self) -> bool:
        """Whether all has come that the recorded agent sent last, or more, or it was given up."""
        if self.is_abandoned:
            return True
        if self.progress.mark < self.end.mark or self.requests.first_awaited is not None:
            return False
        return all(self.progress.states[kind] >= count for kind, count in self.end.states.items())

    def abandon(self) -> list[ClientFrame]:
        """Gives the lane up; returns the frames that will not be sent, answers last."""
        self.is_abandoned = True
        self.turns.abandon()
        self.requests.clear()
        return self.queue.discard()
