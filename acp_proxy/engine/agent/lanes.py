"""Lanes: the client's messages of one session or of the connection, and the order of its frames.

A lane exists for each ACP session, and one for the connection. A session's lane begins at the
request that creates or loads it. Within a session's lane a frame of the agent waits for every
earlier frame of the lane, the client's required messages included; a `Track` keeps that order. The
frames of the connection's lane wait for less, see `connection_frames`.
"""

from collections import deque
from collections.abc import Iterator

from attrs import define, field

from acp_proxy.engine.shared.steps import Step

Key = tuple[int, int]
"""Identifies a step, see `Step.key`."""
Moments = tuple[int, int]
"""A moment in live nanoseconds and one in recorded nanoseconds."""
_REMEMBERED = 200
"""The most messages that are kept after they came, to recognize one that is sent twice."""


@define(eq=False)
class Lane:
    """The client's messages of one lane."""

    name: str | None
    """The session's id, None for the connection."""
    expected: list[Step] = field(factory=list)
    """The messages that have not come yet, in recorded order."""
    played: deque[Step] = field(factory=lambda: deque(maxlen=_REMEMBERED))
    """The latest messages that came."""
    messages: int = 0
    """How many messages came."""
    first: Step | None = None
    """The first message that was recorded."""
    missed: set[Key] = field(factory=set)
    """Messages that are known to be missing, and were reported."""
    lost: set[Key] = field(factory=set)
    """Messages that the client sent and a fault dropped."""
    abandoned: bool = False
    """Whether the lane diverged for good, and nothing of it is played any more."""
    is_overtaken: bool = False
    """Whether a message came while an earlier one is missing."""

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
        """Removes a message from those that are expected."""
        self.expected.remove(step)

    def match(self, step: Step) -> None:
        """Notes that an expected message has come."""
        self.expected.remove(step)
        self.played.append(step)
        self.messages += 1
        self.is_overtaken = False
        self.note_overtaken(step)

    def note_overtaken(self, step: Step) -> None:
        """Notes that a message came, perhaps before one that was recorded earlier."""
        awaited = self.first_missing
        self.is_overtaken |= awaited is not None and awaited.key < step.key

    def note_missing(self) -> Step | None:
        """Counts the awaited message as missing from now on, and returns it."""
        self.is_overtaken = False
        if (missing := self.first_missing) is not None:
            self.missed.add(missing.key)
        return missing

    def abandon(self) -> None:
        """Stops playing the lane."""
        self.abandoned = True


def latest(since: Moments | None, at: int, recorded: int) -> Moments:
    """Returns the later live and the later recorded time of two moments.

    Args:
        since: the moments known so far, if there are any.
        at: live nanoseconds.
        recorded: recorded nanoseconds.
    """
    return (at, recorded) if since is None else (max(since[0], at), max(since[1], recorded))


@define(eq=False)
class Track:
    """Frames whose recorded order is kept: those of one lane, or of all lanes."""

    lane: Lane | None = None
    """The lane whose frames they are; None for all lanes."""
    queue: deque[int | Step] = field(factory=deque)
    """Agent's frames and client's messages in recorded order. A number alone is a notification of
    the agent; a recording may have a million of them."""
    since: Moments | None = None
    """When the last frame or message of the track passed: live, and in the recording.

    The two are independent. A message that came early passed long before the frames that it
    overtook, and its sender's time to think is not repeated."""
    waits_for: Step | None = None
    """The client's message without which the track cannot go on."""
    _arrived: dict[Key, int] = field(factory=dict)
    """When the messages that are still in the queue came, if they have."""

    def arrive(self, step: Step, at: int) -> None:
        """Notes that a message of the client came, which may be anywhere in the queue.

        Args:
            step: the recorded message.
            at: when it came, in live nanoseconds.
        """
        self._arrived[step.key] = at

    def pass_arrived(self, step: Step) -> bool:
        """Lets the track pass a message if it has come; returns whether it has."""
        at = self._arrived.pop(step.key, None)
        if at is None:
            return False
        self.since = latest(self.since, at, step.t_ns)
        return True

    def send_first(self, at: int, recorded: int) -> None:
        """Removes the first frame, which goes out.

        Args:
            at: when, in live nanoseconds.
            recorded: when it went out in the recording.
        """
        self.queue.popleft()
        self.since = latest(self.since, at, recorded)
