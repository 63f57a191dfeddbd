"""What the live agent has still to send: answers, ends of turns, and messages before a frame."""

from collections import deque
from collections.abc import Iterator

from attrs import frozen

from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.recorded_client import RecordedClient
from acp_proxy.engine.shared.playback_options import NS_PER_S
from acp_proxy.engine.shared.steps import Step
from acp_proxy.protocol.methods import PROMPT


@frozen(eq=False)
class SentRequest:
    """A request of the client that the live agent has not answered: when it was sent, and where."""

    step: Step
    lane: ClientLane
    at: int


@frozen
class PendingItem:
    """Something that came in the recording and has not come now."""

    lane: ClientLane
    what: str
    """``the answer to session/new #4``"""
    seq: int
    """The number of the message that has to be answered."""
    since: int

    def described(self, at: int) -> str:
        """Says how long the client has waited for it."""
        return f"{self.what} has not come for {(at - self.since) / NS_PER_S:.1f} s"


class PendingAnswers:
    """The answers of the recording that the live agent has not given, and the open requests.

    Args:
        recording: the recording.
    """

    def __init__(self, recording: RecordedClient) -> None:
        self._recording = recording
        self._expected = deque(recording.expected_answers)
        self._settled: set[int] = set()
        self._open: dict[str, list[SentRequest]] = {}
        """By the token of their id, oldest first."""
        self._answered: dict[str, ClientLane] = {}

    @property
    def first_seq(self) -> int | None:
        """The number of the first recorded answer that has not come; None if all have."""
        while self._expected and self._expected[0][1] in self._settled:
            self._expected.popleft()
        return self._expected[0][0] if self._expected else None

    def has_answers_before(self, seq: int) -> bool:
        """Whether an answer is pending that was recorded before a frame."""
        first = self.first_seq
        return first is not None and first <= seq

    def add(self, request: SentRequest) -> None:
        """Adds a request that the client has sent."""
        self._open.setdefault(request.step.rpc_id or "null", []).append(request)

    def take(self, token: str) -> SentRequest | None:
        """Removes the oldest open request with an id, since its answer has come.

        Args:
            token: the id as it is written.

        Returns:
            the request; None if there is no such request.
        """
        if not (requests := self._open.get(token)):
            return None
        request = requests.pop(0)
        if not requests:
            del self._open[token]
        self._answered[token] = request.lane
        self.settle(request.step.exchange or 0)
        return request

    def settle(self, exchange: int) -> None:
        """Stops waiting for an answer: it has come, or will not come."""
        self._settled.add(exchange)

    def answered_in(self, token: str) -> ClientLane | None:
        """The lane of the latest answered request with an id; None if there was none."""
        return self._answered.get(token)

    def is_open(self, exchange: int | None) -> bool:
        """Whether a request waits for its answer."""
        return any(one.step.exchange == exchange for one in self._requests())

    @property
    def requests(self) -> list[SentRequest]:
        """The open requests that were answered in the recording, oldest first."""
        answers = self._recording.answers
        found = (one for one in self._requests() if (one.step.exchange or 0) in answers)
        return sorted(found, key=lambda one: one.at)

    @property
    def items(self) -> list[PendingItem]:
        """The answers to open requests, oldest first, and then ends of turns."""
        answers = [
            PendingItem(o.lane, f"the answer to {o.step.title} #{o.step.seq}", o.step.seq, o.at)
            for o in self.requests
        ]
        return [*answers, *sorted(self._turns(), key=lambda item: item.since)]

    @property
    def lane(self) -> ClientLane:
        """The lane that waits for the oldest item."""
        items = self.items
        return items[0].lane if items else self._recording.lanes[None]

    @property
    def awaited(self) -> str:
        """What the client waits for, in a few words."""
        for lane in self._recording.lanes.values():
            if (frame := lane.waiting) is not None:
                return f"what the agent had sent before {frame.title} #{frame.seq}"
        items = self.items
        return items[0].what if items else "the agent's last messages"

    def _requests(self) -> Iterator[SentRequest]:
        return (one for requests in self._open.values() for one in requests)

    def _turns(self) -> Iterator[PendingItem]:
        """Yields the open turns that an update ends, and not an answer."""
        for lane in self._recording.lanes.values():
            if self._recording.is_v2 and lane.turns.awaits_end:
                for prompt in lane.turns.prompts.values():
                    what = f"the end of the turn of {PROMPT} #{prompt.seq}"
                    yield PendingItem(lane, what, prompt.seq, prompt.at)
