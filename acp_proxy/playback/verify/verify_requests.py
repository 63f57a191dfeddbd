"""The state of a verification, and the open requests of both sides.

Each part of the state changes only its own data.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import Any

from attrs import field, frozen

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.shared.comparison import Comparer
from acp_proxy.playback.shared.divergence import DivergenceKind, DivergenceLog
from acp_proxy.playback.shared.message_mask import MessageMask
from acp_proxy.playback.shared.playback_options import NS_PER_S, PlaybackOptions
from acp_proxy.playback.shared.secret_pairs import SecretPairs
from acp_proxy.playback.verify.known_files import KnownFiles
from acp_proxy.playback.verify.lane import ClientFrame, ClientLane, SentRequest
from acp_proxy.playback.verify.permission_match import PermissionMatcher
from acp_proxy.playback.verify.recorded_client import RecordedClient
from acp_proxy.playback.verify.recorded_requests import RecordedRequest
from acp_proxy.playback.verify.session_map import SessionMap
from acp_proxy.playback.verify.stream_progress import AgentOutput
from acp_proxy.protocol.dialects import PERMISSION, PROMPT


@frozen(kw_only=True)
class VerifyOptions(PlaybackOptions):
    """How to play the client.

    If no recorded request matches a request of the agent, a lenient client gives the recorded
    answer to the next recorded request of the same method. If a permission request names no file or
    command, a lenient client compares only the texts of the request.
    """

    roots: Mapping[str, str] = field(factory=dict)
    """For each directory that the recorded client chose, the live directory."""
    secrets: Mapping[str, str] = field(factory=dict, repr=False)
    """Secrets that the client sends in place of markers, each with its marker."""
    timeout_ns: int | None = None
    """The longest duration of the whole verification in nanoseconds; None for no limit."""


class VerifyState:
    """The state of a verification, in parts. All classes of the engine share these parts."""

    def __init__(self, recording: RecordedClient, options: VerifyOptions) -> None:
        self.recording = recording
        self.options = options
        self.masking = MessageMask(recording.script.redaction, options.secrets)
        pairs = SecretPairs(are_echoed=self.masking.is_recorded)
        self.bindings = Bindings(roots=dict(options.roots), secrets=pairs)
        self.comparer = Comparer(self.bindings, options.ignored)
        self.divergences = DivergenceLog(self.masking)
        self.output = AgentOutput()
        self.patience = Patience(options.stall_ns)
        self.pending = PendingAnswers(recording)
        self.answers = AnswerQueue(recording, self.patience)
        self.sessions = SessionMap(recording.lanes, self.bindings, recording.joined.items())
        self.permissions = PermissionMatcher(recording, self.bindings, self.masking)
        self.files = KnownFiles(recording, self.bindings)

    @property
    def now(self) -> int:
        """The time of the latest event, in nanoseconds."""
        return self.patience.now

    def abandon(self, lane: ClientLane) -> None:
        """Abandons a lane unless it is abandoned already, and reports its unsent frames."""
        if lane.is_abandoned:
            return
        left = lane.abandon()
        for step in (step for frame in left for step in frame.steps):
            if step.exchange is not None:
                self.pending.settle(step.exchange)
        self.note_unsent(frame for frame in left if not frame.is_answer)

    def note_unsent(self, frames: Iterable[ClientFrame]) -> None:
        """Reports frames of a lane that were not sent, if any; they are in recorded order."""
        if unsent := [*frames]:
            what = "message was" if len(unsent) == 1 else "messages were"
            first = unsent[0]
            summary = f"{len(unsent)} {what} not sent, from {first.title} on"
            kind, lane = DivergenceKind.UNPLAYED, first.lane
            self.divergences.note(kind, lane, summary, seq=first.seq)

    def note_unasked(self) -> None:
        """Reports the client's answers that were recorded before or without their request."""
        for reply in self.recording.unasked:
            step = reply.step
            if step.exchange is None:
                summary = f"the answer #{step.seq} has no request in the recording; it is not sent"
            else:
                summary = f"{step.title} #{step.seq} was recorded before its request; it is sent"
                summary += " when the request comes"
            self.divergences.note(DivergenceKind.WITHHELD, reply.lane, summary, seq=step.seq)


_SETTLE_NS, _TIMES = 5 * NS_PER_S, 5
"""After how much silence the client stops waiting for optional messages: the first value, in
nanoseconds, or the second value times the recorded silence, if this is longer."""
_ANSWER_NS, _LATE_ANSWER_NS = NS_PER_S, 5 * NS_PER_S
"""An answer is sent after a silence of at least the first value, since the agent may wait for it.
If the recorded client was silent before the answer, the silence is longer, up to the second
value."""
_MANY_TIMES = 10
"""How many times longer the client waits while messages come that it does not wait for."""
_WITHOUT_STALL_NS = 300 * NS_PER_S
"""Stands for the stall timeout in these limits if the user has switched it off."""


class Patience:
    """Tells the time, and how long frames wait, in nanoseconds; `stall_ns` is the stall timeout."""

    def __init__(self, stall_ns: int | None) -> None:
        self.now = 0
        """The time of the latest event."""
        self.last_activity = 0
        """When either side last sent anything."""
        self.pauses: list[tuple[int, int]] = []
        """Start and end of each wait for messages that never came."""
        # Less than the stall timeout, so that waiting for optional messages is never a stall.
        self._longest = (_WITHOUT_STALL_NS if stall_ns is None else stall_ns) * 9 // 10

    @property
    def silence(self) -> int:
        """How long neither side has sent anything."""
        return self.now - self.last_activity

    def note_activity(self) -> None:
        """Notes that either side has sent something."""
        self.last_activity = self.now

    def after_silence(self, silence_ns: int) -> int:
        """Returns how long to wait for messages that came after a silence in the recording."""
        return min(max(_SETTLE_NS, _TIMES * silence_ns), self._longest)

    def of_answer(self, silence_ns: int) -> tuple[int, int]:
        """Returns how much silence, and how much time in all, ends the wait of an answer."""
        late = min(_MANY_TIMES * silence_ns, _LATE_ANSWER_NS)
        silence = min(max(_ANSWER_NS, 2 * silence_ns, late), self._longest)
        return silence, _MANY_TIMES * silence

    def deadline(self, frame: ClientFrame) -> int:
        """Returns when a frame stops waiting for optional messages if nothing comes until then.

        While a turn is open, a frame waits until shortly before a stall.
        """
        is_open = frame.lane.turns.is_open
        longest = self._longest if is_open else self.after_silence(frame.before.silence_ns)
        return min(self.last_activity + longest, _waits_since(frame) + _MANY_TIMES * longest)

    def reason(self, frame: ClientFrame) -> str:
        """Returns why a frame stops waiting for optional messages, in a few words."""
        if self._is_silent(frame):
            return f"nothing came for {self.silence / NS_PER_S:.1f} s"
        return f"only other messages came for {(self.now - _waits_since(frame)) / NS_PER_S:.1f} s"

    def note_pause(self, frame: ClientFrame) -> None:
        """Notes the wait of a frame that is sent now, if the frame waited for messages in vain."""
        start = self.last_activity if self._is_silent(frame) else _waits_since(frame)
        if start < self.now:
            self.pauses.append((start, self.now))

    def _is_silent(self, frame: ClientFrame) -> bool:
        """Whether the silence until now is at least a tenth of the time that a frame has waited."""
        return self.silence * _MANY_TIMES >= self.now - _waits_since(frame)


def _waits_since(frame: ClientFrame) -> int:
    """Returns when a frame began to wait, or, if later, when its lane last made progress."""
    return max(frame.waits_since or 0, frame.lane.progress.grew_at)


_Entry = tuple[int, ClientFrame]
"""When an answer is released, and the answer's frame."""


class PendingAnswers:
    """The recorded answers that the live agent has not given yet, and the open requests."""

    def __init__(self, recording: RecordedClient) -> None:
        self._recording = recording
        self._expected = deque(recording.expected_answers)
        self._settled: set[int] = set()
        self._open: dict[str, list[SentRequest]] = {}
        """The open requests by the JSON text of their id, oldest first."""
        self.answered: dict[str, ClientLane] = {}
        """The lane of the latest answered request with each id."""

    @property
    def first_seq(self) -> int | None:
        """The number of the first recorded answer that has not come; None if all have come."""
        while self._expected and self._expected[0][1] in self._settled:
            self._expected.popleft()
        return self._expected[0][0] if self._expected else None

    def add(self, request: SentRequest) -> None:
        """Adds a request that the client has sent."""
        self._open.setdefault(request.step.rpc_id or "null", []).append(request)

    def take(self, token: str) -> SentRequest | None:
        """Removes and returns the oldest open request with a given id (JSON text); else None."""
        if not (requests := self._open.get(token)):
            return None
        request = requests.pop(0)
        if not requests:
            del self._open[token]
        self.answered[token] = request.lane
        self.settle(request.step.exchange or 0)
        return request

    def settle(self, exchange: int) -> None:
        """Stops waiting for an answer, because the answer has come or will not come."""
        self._settled.add(exchange)

    def is_open(self, exchange: int | None) -> bool:
        """Whether a request waits for its answer."""
        return any(sent.step.exchange == exchange for sent in self._requests())

    @property
    def requests(self) -> list[SentRequest]:
        """The open requests that were answered in the recording, oldest first."""
        answers = self._recording.answers
        requests = (sent for sent in self._requests() if (sent.step.exchange or 0) in answers)
        return sorted(requests, key=lambda sent: sent.at)

    @property
    def items(self) -> list[tuple[str, SentRequest]]:
        """The awaited answers and ends of turns: each in words, with the request or prompt.

        The answers come first. Both groups are sorted by the age of the request, oldest first.
        """
        answers = [(f"the answer to {o.step.title} #{o.step.seq}", o) for o in self.requests]
        prompts = sorted(self._prompts(), key=lambda sent: sent.at)
        return answers + [(f"the end of the turn of {PROMPT} #{o.step.seq}", o) for o in prompts]

    @property
    def lane(self) -> ClientLane:
        """The lane of the first entry of `items`; the connection's lane if `items` is empty."""
        items = self.items
        return items[0][1].lane if items else self._recording.lanes[None]

    @property
    def awaited(self) -> str:
        """The awaited message in a few words."""
        for lane in self._recording.lanes.values():
            if (frame := lane.waiting) is not None:
                return f"what the agent had sent before {frame.title}"
        items = self.items
        return items[0][0] if items else "the agent's last messages"

    def _requests(self) -> Iterator[SentRequest]:
        return (sent for requests in self._open.values() for sent in requests)

    def _prompts(self) -> Iterator[SentRequest]:
        """Yields the prompts of v2 turns whose end, an update of the agent, has not come yet."""
        for lane in self._recording.lanes.values():
            if self._recording.is_v2 and lane.turns.awaits_end:
                yield from lane.turns.prompts.values()


@frozen(eq=False)
class LiveRequest:
    """A request of the live agent whose recorded answer has not been sent yet."""

    recorded: RecordedRequest
    token: str
    """The id of the request as the live agent writes it."""
    raw: bytes
    scope: Any = None
    """The scope of a permission request, see `PermissionMatcher.live`."""


class AnswerQueue:
    """The requests of the live agent that wait for their recorded answers.

    An answer waits in the queue of its lane until its conditions hold. Two further queues
    contain the answers of all lanes. One is sorted by how long a silence releases the
    answer. The other is sorted by when the answer is released at the latest.
    So no event requires a look at all waiting answers.
    """

    def __init__(self, recording: RecordedClient, patience: Patience) -> None:
        self._recording = recording
        self._patience = patience
        self._waiting: dict[int, LiveRequest] = {}
        """The live requests by the exchange of the recorded request."""
        self._unanswered: dict[int, LiveRequest] = {}
        """The live requests that were never answered in the recording, by exchange."""
        self._by_silence: list[_Entry] = []
        self._by_deadline: list[_Entry] = []
        self._asked: dict[ClientLane, None] = {}

    def __bool__(self) -> bool:
        """Whether a live request still waits for its recorded answer."""
        return bool(self._waiting)

    def get(self, exchange: int | None) -> LiveRequest | None:
        """Returns the waiting live request of a recorded exchange; None if none waits."""
        return self._waiting.get(exchange or 0)

    def add(self, request: LiveRequest) -> None:
        """Adds a request; the recorded answer is sent when the conditions of the answer hold."""
        ask = request.recorded.ask
        if ask.reply_seq is None:
            self._unanswered[ask.exchange] = request
            return
        self._waiting[ask.exchange] = request
        reply = self._recording.replies.get(ask.exchange)
        frame = None if reply is None else reply.lane.queue.answers.get(reply.step.seq)
        # Another request of the same batch may have started the frame already.
        if frame is not None and frame.waits_since is None:
            self._schedule(frame)

    def take_asked(self) -> dict[ClientLane, None]:
        """Returns the lanes in which an answer began to wait since the previous call."""
        asked, self._asked = self._asked, {}
        return asked

    def remove(self, exchange: int | None) -> LiveRequest | None:
        """Removes and returns the waiting live request of an exchange; None if none waits."""
        return self._waiting.pop(exchange or 0, None)

    def remove_permissions(self, lane: ClientLane) -> Iterator[LiveRequest]:
        """Removes and yields a lane's permission requests that the recording does not answer."""
        for exchange, request in list(self._unanswered.items()):
            recorded = request.recorded
            if recorded.step.lane == lane.name and recorded.ask.method == PERMISSION:
                yield self._unanswered.pop(exchange)

    def release_patient(self) -> None:
        """Releases the answers that have waited long enough."""
        for heap, reached in (
            (self._by_silence, self._patience.silence),
            (self._by_deadline, self._patience.now),
        ):
            while (first := _first(heap)) is not None and first[0] <= reached:
                first[1].lane.queue.release(first[1])

    def moments(self) -> Iterator[int]:
        """Yields when the next answers are released if nothing comes before."""
        if (first := _first(self._by_silence)) is not None:
            yield self._patience.last_activity + first[0]
        if (first := _first(self._by_deadline)) is not None:
            yield first[0]

    def _schedule(self, frame: ClientFrame) -> None:
        now = self._patience.now
        frame.start_waiting(now)
        silence, longest = self._patience.of_answer(frame.before.silence_ns)
        heappush(frame.lane.queue.asked, frame)
        self._asked[frame.lane] = None
        heappush(self._by_silence, (silence, frame))
        heappush(self._by_deadline, (now + longest, frame))


def _first(heap: list[_Entry]) -> _Entry | None:
    while heap and heap[0][1].is_released:
        heappop(heap)
    return heap[0] if heap else None
