"""A client that says what the recorded one said, as soon as the agent has said what came before.

It is reactive: a recorded message goes out once every frame of the agent that was recorded before
it in its lane has arrived, byte for byte. Tests and demonstrations play it against a replay.
"""

from collections import deque
from collections.abc import Iterator

from attrs import define, field

from acp_proxy.engine.shared.lane_finder import LaneFinder
from acp_proxy.engine.shared.steps import Script, Step

_KEPT = 4096
"""Steps to hold before what is held is looked through for a frame."""


@define
class _Lane:
    """What is still to come in a lane: numbers in recorded order, the client's marked."""

    queue: deque[tuple[int, bool]] = field(factory=deque)


class ScriptedClient:
    """Plays the client of a recording.

    Attributes:
        is_done: whether all was said and heard.
        unexpected: a line that was recorded nowhere, if one came; nothing is said after that.
    """

    def __init__(self, script: Script) -> None:
        self.unexpected: bytes | None = None
        self._script = script
        self._finder = LaneFinder()
        self._lanes: dict[str | None, _Lane] = {}
        self._is_read = False
        self._last_added: int | None = None

    @property
    def is_done(self) -> bool:
        """Whether all was said and heard."""
        return self._is_read and not any(lane.queue for lane in self._lanes.values())

    def begin(self) -> Iterator[bytes]:
        """Yields what the client says first, each with its newline."""
        self._read_on()
        yield from self._say()

    def hear(self, line: bytes) -> Iterator[bytes]:
        """Takes a line of the agent's, without its newline; yields what the client says then."""
        line = line.removesuffix(b"\r")
        while not self._consume(line):
            if self.unexpected is not None or not self._read_on():
                self.unexpected = self.unexpected or line
                return
        yield from self._say()

    def _say(self) -> Iterator[bytes]:
        while True:
            said = [*self._due()]
            for seq in said:
                wire = self._script.wire(seq)
                yield wire.raw + (wire.newline or "\n").encode()
            if not said and (any(not lane.queue for lane in self._lanes.values())):
                if self._is_read or self._is_ahead() or not self._read_on():
                    return
            elif not said:
                return

    def _is_ahead(self) -> bool:
        """Whether enough is held; more is read when a line asks for it."""
        return sum(len(lane.queue) for lane in self._lanes.values()) > _KEPT

    def _due(self) -> Iterator[int]:
        """Takes the messages whose turn it is, in recorded order."""
        due = []
        for lane in self._lanes.values():
            while lane.queue and lane.queue[0][1]:
                due.append(lane.queue.popleft()[0])
        yield from sorted(due)

    def _consume(self, line: bytes) -> bool:
        """Takes the frame that a line is, in the lane where it is next."""
        heads = sorted(
            (lane.queue[0][0], name)
            for name, lane in ((n or "", one) for n, one in self._lanes.items())
            if lane.queue and not lane.queue[0][1]
        )
        for seq, name in heads:
            if self._script.wire(seq).raw == line:
                self._lanes[name or None].queue.popleft()
                return True
        return False

    def _read_on(self) -> bool:
        steps = self._script.read()
        self._is_read = not steps
        for step in steps:
            self._add(step)
        return bool(steps)

    def _add(self, step: Step) -> None:
        self._finder.place(step)
        lane = self._lanes.setdefault(step.lane, _Lane())
        if step.from_agent or step.seq != self._last_added:
            lane.queue.append((step.seq, not step.from_agent))
        self._last_added = step.seq
