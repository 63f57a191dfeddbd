"""Lanes: the client's messages in one session or in the connection, and the order of frames.

There is a lane for each ACP session, and one for the connection. A session's lane begins at the
request that creates or loads the session.

In a session's lane, a `Track` keeps the order: a frame of the agent waits for all earlier frames of
the agent and all earlier messages that the client must send. The frames of the connection's lane
wait for less; see `ConnectionFrames`.
"""

from collections import deque
from collections.abc import Iterator

from attrs import define, field

from acp_proxy.recording.steps import Step

Key = tuple[int, int]
"""Identifies a step, see `Step.key`."""
Moments = tuple[int, int]
"""A time in live nanoseconds and a time in recorded nanoseconds."""
_REMEMBERED = 200
"""The largest number of matched messages that are kept to recognize a message sent twice."""


@define(eq=False)
class Lane:
    """The client's messages in one session, or in the connection."""

    name: str | None
    """The session's id, None for the connection."""
    expected: list[Step] = field(factory=list)
    """The recorded messages that have not come yet, in recorded order."""
    played: deque[Step] = field(factory=lambda: deque(maxlen=_REMEMBERED))
    """The latest recorded messages that came, at most `_REMEMBERED`."""
    messages: int = 0
    """How many of the recorded messages came."""
    first: Step | None = None
    """The first recorded message, whether it came or not."""
    missed: set[Key] = field(factory=set)
    """Messages that were reported as missing."""
    lost: set[Key] = field(factory=set)
    """Messages that the client sent but a fault dropped."""
    abandoned: bool = False
    """Whether the lane has diverged, so that its remaining frames are not played."""
    is_overtaken: bool = False
    """Whether a message came while an earlier message is missing."""

    @property
    def title(self) -> str:
        """The lane's name in reports."""
        return self.name or "connection"

    @property
    def first_missing(self) -> Step | None:
        """The first awaited message that has not come and is not optional."""
        return next(self.missing(), None)

    def missing(self) -> Iterator[Step]:
        """Yields the awaited messages that have not come and are not optional."""
        return (step for step in self.expected if step.is_awaited and not step.is_optional)

    def expect(self, step: Step) -> None:
        """Adds a message that the client is expected to send."""
        self.expected.append(step)
        self.first = self.first or step

    def forget(self, step: Step) -> None:
        """Removes a message from the expected messages."""
        self.expected.remove(step)

    def match(self, step: Step) -> None:
        """Notes that an expected message has come."""
        self.expected.remove(step)
        self.played.append(step)
        self.messages += 1
        self.is_overtaken = False
        self.note_overtaken(step)

    def note_overtaken(self, step: Step) -> None:
        """Notes that a message came, and whether an earlier recorded message is still missing."""
        awaited = self.first_missing
        self.is_overtaken |= awaited is not None and awaited.key < step.key

    def note_missing(self) -> Step | None:
        """Marks the first missing message as reported, and returns it; None if none is missing."""
        self.is_overtaken = False
        if (missing := self.first_missing) is not None:
            self.missed.add(missing.key)
        return missing

    def abandon(self) -> None:
        """Stops playing the lane."""
        self.abandoned = True


def latest(since: Moments | None, at: int, recorded: int) -> Moments:
    """Returns the later of two live times, and the later of two recorded times.

    Args:
        since: the times known so far, if any.
        at: another live time, in nanoseconds.
        recorded: another recorded time, in nanoseconds.
    """
    return (at, recorded) if since is None else (max(since[0], at), max(since[1], recorded))


@define(eq=False)
class Track:
    """Frames whose recorded order is kept: the frames of one lane or of all lanes."""

    lane: Lane | None = None
    """The lane of the frames; None for all lanes."""
    queue: deque[int | Step] = field(factory=deque)
    """The agent's frames and the client's messages in recorded order. To save memory, a
    notification of the agent is only a number."""
    since: Moments | None = None
    """When a frame or message of the track last passed, live and in the recording.

    The two times may belong to different messages. A gap is counted from the live time, so that the
    client's time to think is not repeated.
    """
    waits_for: Step | None = None
    """The client's message that the track waits for."""
    arrived: dict[Key, int] = field(factory=dict)
    """For each message in the queue that has come: when it came, in live nanoseconds."""

    def pass_arrived(self, step: Step) -> bool:
        """Moves the track past a client's message; returns False if the message has not come."""
        at = self.arrived.pop(step.key, None)
        if at is None:
            return False
        self.since = latest(self.since, at, step.t_ns)
        return True

    def send_first(self, at: int, recorded: int) -> None:
        """Removes the first frame, which goes out.

        Args:
            at: when it goes out, in live nanoseconds.
            recorded: when it went out in the recording.
        """
        self.queue.popleft()
        self.since = latest(self.since, at, recorded)


@define(eq=False)
class WaitingFrame:
    """A frame of the connection's lane, with the messages and frames that it still waits for."""

    step: Step
    asked: set[Key]
    """The requests that the frame answers and that have not come."""
    messages: set[Key] = field(factory=set)
    """The requests besides `asked` that the frame waits for. They were open at the same time as
    `asked`, and were recorded before the frame."""
    frames: set[int] = field(factory=set)
    """The numbers of the frames that this frame waits for. They are about exchanges that were open
    at the same time as `asked`, and were recorded earlier."""
    since: Moments | None = None
    """When the latest of the awaited messages and frames passed, live and in the recording."""

    @property
    def is_free(self) -> bool:
        """Whether the frame waits for nothing."""
        return not (self.asked or self.messages or self.frames)


@define
class ConnectionFrames:
    """Decides which frames of the connection's lane may go out.

    Order is kept only among exchanges that were open at the same time in the recording. Otherwise a
    reply waits only for its own request. So a client that never opens its history panel does not
    stall the replay.
    """

    waiting: list[WaitingFrame] = field(factory=list)
    """Frames that have not gone out, in recorded order."""
    _requests: dict[Key, Step] = field(factory=dict)
    """The client's requests that may be open at the same time as the next frame's exchange."""
    _come: dict[Key, int] = field(factory=dict)
    """When each request of the client came, in live nanoseconds, by the request's key."""

    def add_request(self, step: Step) -> None:
        """Adds a request of the client, or a line that the agent may have answered."""
        self._requests[step.key] = step

    def add_frame(self, step: Step) -> None:
        """Adds a frame of the agent.

        The frame waits for earlier frames of exchanges that were open at the same time as its own
        exchange.

        A frame without an exchange waits for everything recorded before it.
        """
        begun = step.request_seq if step.request_seq is not None else step.seq
        for key in [k for k, r in self._requests.items() if r.response_seq in range(begun)]:
            self._requests.pop(key)
            self._come.pop(key, None)
        answered = {answer.exchange for answer in step.answers}
        asked = {key for key, r in self._requests.items() if r.exchange in answered}
        frames = {other.step.seq for other in self.waiting}
        if step.answers:
            frames &= {r.response_seq or 0 for r in self._requests.values()}
        come = self._come.keys()
        waiting = WaitingFrame(step, asked - come, self._requests.keys() - come, frames)
        for key, request in self._requests.items():
            if (at := self._come.get(key)) is not None:
                waiting.since = latest(waiting.since, at, request.t_ns)
        self.waiting.append(waiting)

    def note_message(self, step: Step, at: int) -> None:
        """Notes that a message of the client came.

        Args:
            step: the recorded message.
            at: when the message came, in live nanoseconds.
        """
        key = step.key
        self._come[key] = at
        for waiting in self.waiting:
            if key in waiting.asked or key in waiting.messages:
                waiting.asked.discard(key)
                waiting.messages.discard(key)
                waiting.since = latest(waiting.since, at, step.t_ns)

    def remove(self, waiting: WaitingFrame, at: int) -> None:
        """Removes a frame that goes out now or never; other frames no longer wait for it.

        Args:
            waiting: the frame.
            at: when the frame is removed, in live nanoseconds.
        """
        self.waiting.remove(waiting)
        for other in self.waiting:
            if waiting.step.seq in other.frames:
                other.frames.discard(waiting.step.seq)
                other.since = latest(other.since, at, waiting.step.t_ns)

    def stop_waiting_for(self, optional: set[Key]) -> set[Key]:
        """Makes a frame stop waiting for optional messages if all requests that it answers came.

        Args:
            optional: the optional messages.

        Returns:
            The optional messages that frames no longer wait for.
        """
        unasked = {w.step.seq for w in self.waiting if w.asked and w.asked <= optional}
        passed: set[Key] = set()
        for waiting in self.waiting:
            if not waiting.asked:
                passed |= waiting.messages & optional
                waiting.messages -= optional
                waiting.frames -= unasked
        return passed

    def skip(self, exchange: int) -> int:
        """Removes the frames that answer only a request that will not come; returns how many."""
        skipped = [
            waiting
            for waiting in self.waiting
            if {answer.exchange for answer in waiting.step.answers} == {exchange}
        ]
        for waiting in skipped:
            self.remove(waiting, 0)
        return len(skipped)
