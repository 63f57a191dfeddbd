"""Chooses between recordings of one story, of which each start of the agent plays the next.

A client that restarts its agent has recordings of several processes. Which of them a start is, the
client's first messages tell: all are played at once, and one that diverges where another does not
is out. As long as they would say the same, it is said; where they would say different things, the
first of those left is the one.
"""

from collections.abc import Iterator

from acp_proxy.commands import Command, Send
from acp_proxy.engine.replay import Replay
from acp_proxy.engine.stage import Stage
from acp_proxy.events import Event


class Choice:
    """Plays the recording that fits; with the methods of a `Replay`.

    Attributes:
        replays: those that may still be the one; the first is it as far as one can tell.
    """

    def __init__(self, replays: list[Replay]) -> None:
        self.replays = replays

    @property
    def chosen(self) -> Replay:
        """The one that is played, or would be."""
        return self.replays[0]

    @property
    def stage(self) -> Stage:
        """What is known of the one that is played."""
        return self.chosen.stage

    @property
    def is_over(self) -> bool:
        """Whether nothing will be sent any more."""
        return self.chosen.is_over

    def feed(self, event: Event) -> Iterator[Command]:
        """Takes an event and yields what to do."""
        if len(self.replays) == 1:
            yield from self.chosen.feed(event)
            return
        answers = [(replay, [*replay.feed(event)]) for replay in self.replays]
        fitting = [pair for pair in answers if not pair[0].stage.judge.has_diverged] or answers
        first = fitting[0][1]
        self.replays = [r for r, commands in fitting if _said(commands) == _said(first)]
        yield from first


def _said(commands: list[Command]) -> bytes:
    return b"".join(command.data for command in commands if isinstance(command, Send))
