"""What the live agent owes: answers, ends of turns, and what has to come before a message."""

from collections.abc import Iterator

from attrs import frozen

from acp_proxy.engine.client.lane import ClientLane
from acp_proxy.engine.client.state import Open, Stage
from acp_proxy.engine.shared.pacing import NS_PER_S
from acp_proxy.engine.shared.steps import PROMPT


@frozen
class Debt:
    """Something that came in the recording and has not come now."""

    lane: ClientLane
    what: str
    """``the answer to session/new #4``"""
    seq: int
    """The number of the message that has to be answered."""
    since: int

    def told(self, at: int) -> str:
        """Says how long it has been waited for."""
        return f"{self.what} has not come for {(at - self.since) / NS_PER_S:.1f} s"


class PendingAnswers:
    """Looks at what the agent owes.

    Args:
        stage: what is known.
    """

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    @property
    def answers(self) -> list[Open]:
        """The client's requests that were answered in the recording only, oldest first."""
        opened = [one for requests in self._stage.open.values() for one in requests]
        answers = self._stage.recording.answers
        return sorted((o for o in opened if (o.step.exchange or 0) in answers), key=lambda o: o.at)

    @property
    def all(self) -> list[Debt]:
        """Answers, oldest first, and then ends of turns."""
        answers = [
            Debt(o.lane, f"the answer to {o.step.title} #{o.step.seq}", o.step.seq, o.at)
            for o in self.answers
        ]
        return [*answers, *sorted(self._turns(), key=lambda debt: debt.since)]

    def _turns(self) -> Iterator[Debt]:
        """Yields the turns whose end an update tells, and not an answer."""
        for lane in self._stage.recording.lanes.values():
            if self._stage.recording.is_v2 and lane.idles < lane.trailing_idles:
                for seq, sent_at in lane.prompts.values():
                    yield Debt(lane, f"the end of the turn of {PROMPT} #{seq}", seq, sent_at)

    @property
    def lane(self) -> ClientLane:
        """The lane that waits for the oldest of them."""
        debts = self.all
        return debts[0].lane if debts else self._stage.recording.lanes[None]

    @property
    def awaited(self) -> str:
        """What is waited for, in a few words."""
        debts = self.all
        for lane in self._stage.recording.lanes.values():
            if (line := lane.waiting) is not None:
                return f"what the agent had said before {line.title} #{line.seq}"
        return debts[0].what if debts else "the agent's last words"
