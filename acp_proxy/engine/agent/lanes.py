"""Lanes and what their frames wait for.

There is a lane for each ACP session, and one for the connection. A session's lane begins at the
request that creates or loads it. Within a session's lane a frame of the agent waits for every
earlier frame of the lane, the client's required messages included. On the connection's lane that
holds only among exchanges that were in flight together; a reply otherwise waits for its request
alone, so that a client which never opens its history panel stalls nothing.

What the agent said without naming a session, a stray line, say, belongs to the lane of the frame
that was recorded just before it.
"""

from collections import deque

from attrs import define, field

from acp_proxy.engine.shared.steps import Step

Key = tuple[int, int]
_REMEMBERED = 200
"""Messages that are kept once they have come, to tell of what is said twice."""


@define(eq=False)
class Lane:
    """What is known of one lane while it is played.

    Attributes:
        name: the session's id, None for the connection.
        expected: the client's messages that have not come yet, in recorded order.
        played: those that came, the latest of them.
        arrived: when those came that the track has not reached yet.
        open: the client's requests that are not answered yet and their live ids, by exchange.
        poisoned: whether it diverged for good, and nothing of it is played any more.
        missed: what is known to be missing, and has been told.
        is_idle: whether no turn is open that an update has to end, as it does in v2.
    """

    name: str | None
    expected: list[Step] = field(factory=list)
    played: deque[Step] = field(factory=lambda: deque(maxlen=_REMEMBERED))
    arrived: dict[Key, int] = field(factory=dict)
    open: dict[int, tuple[str, Step]] = field(factory=dict)
    skipped: set[int] = field(factory=set)
    missed: set[Key] = field(factory=set)
    first: Step | None = None
    messages: int = 0
    abandoned: bool = False
    is_idle: bool = True
    is_overtaken: bool = False
    """Whether a message came while an earlier one is missing."""
    is_cancelled: bool = False
    """Whether the client has cancelled the turn that is open."""

    @property
    def title(self) -> str:
        """How reports name it."""
        return self.name or "connection"

    @property
    def awaited(self) -> Step | None:
        """The first required message that has not come, and that cannot be left out."""
        needed = (step for step in self.expected if step.is_required and not step.can_be_left_out)
        return next(needed, None)

    def expect(self, step: Step) -> None:
        """Adds a message of the client's."""
        self.expected.append(step)
        if self.first is None:
            self.first = step

    def match(self, step: Step) -> None:
        """Notes that a message has come."""
        self.expected.remove(step)
        self.played.append(step)
        self.messages += 1
        waiting = self.awaited
        self.is_overtaken = waiting is not None and waiting.key < step.key


def latest(since: tuple[int, int] | None, at: int, recorded: int) -> tuple[int, int]:
    """The later moment of two, live and in the recording each."""
    return (at, recorded) if since is None else (max(since[0], at), max(since[1], recorded))


@define(eq=False)
class Track:
    """Frames in an order that is kept: those of one lane, or of all.

    Attributes:
        queue: agent's frames and client's messages in recorded order. A bare number is a
            notification of the agent, of which there may be a million.
        since: when the last frame or message of the track passed: live, and in the recording.
            Each is the latest of its kind. A message that came early passed long before the
            frames that it overtook, and what its sender thought meanwhile is not waited for.
        waits_for: the client's message that it cannot go on without.
        lane: whose frames they are, unless they are everybody's.
    """

    queue: deque[int | Step] = field(factory=deque)
    since: tuple[int, int] | None = None
    waits_for: Step | None = None
    lane: Lane | None = None

    def passed(self, at: int, recorded: int) -> None:
        """Notes that something of the track passed."""
        self.since = latest(self.since, at, recorded)


@define(eq=False)
class Waiting:
    """A frame of the connection's lane and what it still waits for."""

    step: Step
    asked: set[Key]
    """The requests that it answers."""
    messages: set[Key]
    """Requests that were in flight with these and came before it."""
    frames: set[int]
    """Frames that were, and went out before it."""
    since: tuple[int, int] | None = None
    """When the last thing that it waited for passed, as `Track.since`."""

    @property
    def is_free(self) -> bool:
        """Whether it waits for nothing."""
        return not (self.asked or self.messages or self.frames)


@define
class Connection:
    """The frames of the connection's lane, of which each waits for little.

    Attributes:
        waiting: frames that are not out, in recorded order.
    """

    waiting: list[Waiting] = field(factory=list)
    _requests: dict[Key, Step] = field(factory=dict)
    _come: dict[Key, int] = field(factory=dict)

    def add_request(self, step: Step) -> None:
        """Adds a request of the client's, or a line that the agent may have answered."""
        self._requests[step.key] = step

    def add_frame(self, step: Step) -> None:
        """Adds a frame of the agent's; what was in flight with its exchange comes before it.

        One that answers nothing follows everything that came before it.
        """
        begun = step.request_seq if step.request_seq is not None else step.seq
        for key in [k for k, r in self._requests.items() if r.response_seq in range(begun)]:
            self._requests.pop(key)
            self._come.pop(key, None)
        answered = {answer.exchange for answer in step.answers}
        asked = {key for key, r in self._requests.items() if r.exchange in answered}
        frames = unsent = {other.step.seq for other in self.waiting}
        if step.answers:
            answers = {r.response_seq for r in self._requests.values()}
            frames = {seq for seq in unsent if seq in answers}
        come = self._come.keys()
        waiting = Waiting(step, asked - come, self._requests.keys() - come, frames)
        for key, request in self._requests.items():
            if (at := self._come.get(key)) is not None:
                waiting.since = latest(waiting.since, at, request.t_ns)
        self.waiting.append(waiting)

    def came(self, step: Step, at: int) -> None:
        """Notes that a message of the client's came."""
        key = step.key
        self._come[key] = at
        for waiting in self.waiting:
            if key in waiting.asked or key in waiting.messages:
                waiting.asked.discard(key)
                waiting.messages.discard(key)
                waiting.since = latest(waiting.since, at, step.t_ns)

    def went(self, waiting: Waiting, at: int) -> None:
        """Notes that a frame went out."""
        self.waiting.remove(waiting)
        for other in self.waiting:
            if waiting.step.seq in other.frames:
                other.frames.discard(waiting.step.seq)
                other.since = latest(other.since, at, waiting.step.t_ns)

    def relax(self, optional: set[Key]) -> set[Key]:
        """Lets no frame that was asked for wait any longer for messages that may be left out.

        Returns:
            those that a frame did wait for.
        """
        unasked = {w.step.seq for w in self.waiting if w.asked and w.asked <= optional}
        let_pass: set[Key] = set()
        for waiting in self.waiting:
            if not waiting.asked:
                let_pass |= waiting.messages & optional
                waiting.messages -= optional
                waiting.frames -= unasked
        return let_pass

    def skip(self, exchanges: set[int]) -> int:
        """Forgets the frames that answer nothing but requests which will not come.

        Returns:
            how many there were.
        """
        skipped = 0
        for waiting in list(self.waiting):
            answers = waiting.step.answers
            if answers and {answer.exchange for answer in answers} <= exchanges:
                self.went(waiting, 0)
                skipped += 1
        return skipped
