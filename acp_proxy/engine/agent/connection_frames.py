"""Decides when the agent's frames of the connection's lane may go out.

Order is kept only among exchanges that were in flight together in the recording. A reply otherwise
waits for its own request alone. So a client that never opens its history panel stalls nothing.
"""

from attrs import define, field

from acp_proxy.engine.agent.lanes import Key, Moments, latest
from acp_proxy.engine.shared.steps import Step


@define(eq=False)
class WaitingFrame:
    """A frame of the connection's lane and what it still waits for."""

    step: Step
    asked: set[Key]
    """The requests that it answers."""
    messages: set[Key] = field(factory=set)
    """Requests that were in flight with these and were recorded before the frame."""
    frames: set[int] = field(factory=set)
    """Numbers of frames that were in flight with these and were recorded before the frame."""
    since: Moments | None = None
    """When the last thing that it waited for passed, as `Track.since`."""

    @property
    def is_free(self) -> bool:
        """Whether the frame waits for nothing."""
        return not (self.asked or self.messages or self.frames)


@define
class ConnectionFrames:
    """Decides which frames of the connection's lane may go out."""

    waiting: list[WaitingFrame] = field(factory=list)
    """Frames that have not gone out, in recorded order."""
    _requests: dict[Key, Step] = field(factory=dict)
    """The client's requests that may be in flight with the next frame."""
    _come: dict[Key, int] = field(factory=dict)
    """When those requests came that have come."""

    def add_request(self, step: Step) -> None:
        """Adds a request of the client, or a line that the agent may have answered."""
        self._requests[step.key] = step

    def add_frame(self, step: Step) -> None:
        """Adds a frame of the agent; what was in flight with its exchange comes before it.

        A frame that answers nothing follows everything that came before it.
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

    def add_unasked(self, step: Step, asked: set[Key]) -> None:
        """Adds an answer to requests that may be left out: it goes out if they come after all.

        Args:
            step: the answer, of any lane.
            asked: the requests that have not come.
        """
        self.waiting.append(WaitingFrame(step, asked))

    def note_message(self, step: Step, at: int) -> None:
        """Notes that a message of the client came.

        Args:
            step: the recorded message.
            at: when, in live nanoseconds.
        """
        key = step.key
        self._come[key] = at
        for waiting in self.waiting:
            if key in waiting.asked or key in waiting.messages:
                waiting.asked.discard(key)
                waiting.messages.discard(key)
                waiting.since = latest(waiting.since, at, step.t_ns)

    def remove(self, waiting: WaitingFrame, at: int) -> None:
        """Removes a frame, which goes out or never will; others wait for it no longer.

        Args:
            waiting: the frame.
            at: when, in live nanoseconds.
        """
        self.waiting.remove(waiting)
        for other in self.waiting:
            if waiting.step.seq in other.frames:
                other.frames.discard(waiting.step.seq)
                other.since = latest(other.since, at, waiting.step.t_ns)

    def stop_waiting_for(self, optional: set[Key]) -> set[Key]:
        """Lets frames whose requests came wait for optional messages no longer; returns these."""
        unasked = {w.step.seq for w in self.waiting if w.asked and w.asked <= optional}
        passed: set[Key] = set()
        for waiting in self.waiting:
            if not waiting.asked:
                passed |= waiting.messages & optional
                waiting.messages -= optional
                waiting.frames -= unasked
        return passed

    def skip(self, exchange: int) -> int:
        """Removes the frames that answer only a request which will not come; returns how many."""
        skipped = [
            waiting
            for waiting in self.waiting
            if {answer.exchange for answer in waiting.step.answers} == {exchange}
        ]
        for waiting in skipped:
            self.remove(waiting, 0)
        return len(skipped)
