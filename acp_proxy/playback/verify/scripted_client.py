"""A client that sends a recorded frame when all earlier frames of the agent in its lane have come.

The agent's frames are compared byte by byte: a replay has to send exactly the recorded bytes. The
recording is read only as far as needed.
"""

from collections import deque
from collections.abc import Iterator
from heapq import heappop, heappush

from acp_proxy.playback.events import Command, EndOfInput, Event, Finish, LineReceived, Send
from acp_proxy.recording.steps import LaneFinder, Script, Step

_HELD = 4096
"""The largest number of steps that are kept in memory, unless a line needs more."""


class ScriptedClient:
    """Plays the client of a recording."""

    # Silence has no limit for this client, so these members of an engine are constants.
    stall_ns = None
    last_activity = 0
    awaited = "the agent"

    def __init__(self, script: Script) -> None:
        self.unexpected: bytes | None = None
        """The first line that was not recorded at its place, if any; nothing is sent after it."""
        self.has_left = False
        """Whether the agent has ended its output."""
        self._script = script
        self._finder = LaneFinder()
        self._lanes: dict[str | None, deque[Step]] = {}
        """The steps still to come in each lane; a batch of the client counts once."""
        self._held = 0
        """How many steps are still to come."""
        self._empty: set[str | None] = set()
        self._sending: dict[str | None, None] = {}
        """The lanes in which a frame of the client is next."""
        self._awaited: dict[bytes, list[tuple[int, str | None]]] = {}
        """For each line of the agent that is next in some lanes: these lanes, in recorded order."""
        self._is_read = False
        self._last_added: int | None = None

    @property
    def is_done(self) -> bool:
        """Whether all recorded frames of both peers have passed."""
        return self._is_read and not self._held

    @property
    def is_hopeless(self) -> bool:
        """Whether the agent has sent an unrecorded line, so that waiting is useless."""
        return self.unexpected is not None

    def feed(self, event: Event) -> Iterator[Command]:
        """Processes an event and yields commands; the first event need not be `Started`."""
        if self.is_done or self.is_hopeless:
            return
        if not self._lanes:
            self._read_on()
        if isinstance(event, LineReceived):
            self._take(event.raw.removesuffix(b"\r"))
        self.has_left = isinstance(event, EndOfInput)
        if not self.is_hopeless:
            yield from self._send()
        if self.is_done or self.is_hopeless or self.has_left:
            yield Finish()

    def _take(self, line: bytes) -> None:
        while not self._matches(line):
            if not self._read_on():
                self.unexpected = line
                return

    def _matches(self, line: bytes) -> bool:
        """Removes a line from a lane in which it is next; returns False if no lane has it next."""
        if (waiting := self._awaited.pop(line, None)) is None:
            return False
        _, name = heappop(waiting)
        if waiting:
            self._awaited[line] = waiting
        self._take_first(name)
        return True

    def _send(self) -> Iterator[Command]:
        """Sends all due frames; reads on while a lane is empty and few steps are in memory."""
        while True:
            for step in (due := self._due()):
                wire = self._script.wire(step.seq)
                yield Send(wire.raw + (wire.newline or "\n").encode(), step.seq)
            is_enough = not self._empty or self._held > _HELD
            if not due and (is_enough or not self._read_on()):
                return

    def _due(self) -> list[Step]:
        """Removes the client's frames that can be sent, and returns them in recorded order."""
        due = []
        while self._sending:
            name, _ = self._sending.popitem()
            due.append(self._take_first(name))
        return sorted(due, key=lambda step: step.seq)

    def _take_first(self, name: str | None) -> Step:
        step = self._lanes[name].popleft()
        self._held -= 1
        self._note_first(name)
        return step

    def _note_first(self, name: str | None) -> None:
        """Notes which peer sends the next step of a lane."""
        if not (lane := self._lanes[name]):
            self._empty.add(name)
        elif lane[0].from_agent:
            waiting = self._awaited.setdefault(self._script.wire(lane[0].seq).raw, [])
            heappush(waiting, (lane[0].seq, name))
        else:
            self._sending[name] = None

    def _read_on(self) -> bool:
        """Reads more steps; returns False at the end of the recording."""
        steps = [] if self._is_read else self._script.read()
        self._is_read = not steps
        for step in steps:
            self._finder.place(step)
            if step.from_agent or step.seq != self._last_added:
                lane = self._lanes.setdefault(step.lane, deque())
                lane.append(step)
                self._held += 1
                if len(lane) == 1:
                    self._empty.discard(step.lane)
                    self._note_first(step.lane)
            self._last_added = step.seq
        return bool(steps)
