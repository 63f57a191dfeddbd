"""The answers that the live agent has asked for and that have not been sent.

An answer waits in the queue of its lane, where the first one may be sent as soon as its conditions
hold. It also waits in two queues over all lanes, for the moment at which it is sent anyway. So no
event needs to look at all recorded frames.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Any

from attrs import frozen

from acp_proxy.engine.client.client_frames import ClientFrame
from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.patience import Patience
from acp_proxy.engine.client.recorded_client import RecordedClient
from acp_proxy.engine.client.recorded_requests import RecordedRequest

_Entry = tuple[int, int, ClientLane, ClientFrame]


@frozen(eq=False)
class LiveRequest:
    """A request of the live agent whose recorded answer has not been sent yet.

    Attributes:
        recorded: the recorded request that it matches.
        token: its id as the live agent writes it.
        raw: the request.
        scope: what a permission request asks permission for, as of `PermissionMatcher.live`.
    """

    recorded: RecordedRequest
    token: str
    raw: bytes
    scope: Any = None


class AnswerQueue:
    """The requests of the live agent that wait for their recorded answers.

    Args:
        recording: the recording.
        patience: how long an answer waits for its place.
        is_causal: whether an answer waits for its own request alone.
    """

    def __init__(self, recording: RecordedClient, patience: Patience, *, is_causal: bool) -> None:
        self._recording = recording
        self._patience = patience
        self._is_causal = is_causal
        self._waiting: dict[int, LiveRequest] = {}
        """By the exchange of the recorded request."""
        self._unanswered: dict[int, LiveRequest] = {}
        """Likewise, those that were never answered in the recording."""
        self._by_silence: list[_Entry] = []
        self._by_deadline: list[_Entry] = []

    def __bool__(self) -> bool:
        """Whether the client has to answer anything that it answered in the recording."""
        return bool(self._waiting)

    def get(self, exchange: int | None) -> LiveRequest | None:
        """The live request for a recorded exchange; None if the agent has not made it."""
        return self._waiting.get(exchange or 0)

    def add(self, request: LiveRequest, at: int) -> None:
        """Adds a request; its recorded answer is sent when its conditions hold.

        Args:
            request: the request.
            at: the moment, in nanoseconds.
        """
        ask = request.recorded.ask
        if ask.reply_seq is None:
            self._unanswered[ask.exchange] = request
            return
        self._waiting[ask.exchange] = request
        reply = self._recording.replies.get(ask.exchange)
        frame = None if reply is None else reply.lane.queue.answers.get(reply.step.seq)
        # Another request of the same batch may have started the frame already.
        if reply is not None and frame is not None and frame.waits_since is None:
            self._schedule(reply.lane, frame, at)

    def remove(self, exchange: int | None) -> LiveRequest | None:
        """Removes a request that is answered now; returns it, None if there is none."""
        return self._waiting.pop(exchange or 0, None)

    def remove_unanswered(self, lane: ClientLane, method: str) -> Iterator[LiveRequest]:
        """Removes the requests of a lane that were not answered in the recording; yields them.

        Args:
            lane: the lane.
            method: the method of the requests.
        """
        for exchange, request in list(self._unanswered.items()):
            recorded = request.recorded
            if recorded.step.lane == lane.name and recorded.ask.method == method:
                del self._unanswered[exchange]
                yield request

    def release_patient(self, at: int) -> None:
        """Releases the answers that have waited long enough at a moment."""
        silence = at - self._patience.last_activity
        for heap, reached in ((self._by_silence, silence), (self._by_deadline, at)):
            while (first := _first(heap)) is not None and first[0] <= reached:
                first[2].queue.release(first[3])

    def moments(self) -> Iterator[int]:
        """Yields when the next answer will have waited long enough, if nothing comes."""
        if (first := _first(self._by_silence)) is not None:
            yield self._patience.last_activity + first[0]
        if (first := _first(self._by_deadline)) is not None:
            yield first[0]

    def _schedule(self, lane: ClientLane, frame: ClientFrame, at: int) -> None:
        frame.start_waiting(at)
        silence, longest = self._patience.of_answer(frame.before.silence_ns)
        lane.queue.mark_asked(frame)
        heappush(self._by_silence, (silence, frame.seq, lane, frame))
        heappush(self._by_deadline, (at + longest, frame.seq, lane, frame))
        if self._is_causal:
            lane.queue.release(frame)


def _first(heap: list[_Entry]) -> _Entry | None:
    while heap and heap[0][3].is_released:
        heappop(heap)
    return heap[0] if heap else None
