"""An agent in this process that plays the recorded agent to `verify`, with or without changes.

It sends a recorded frame when it has received all frames of the client that come before it in its
lane. Tests can replace any frame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, frozen

from acp_proxy.playback.events import EndOfInput, Event, LineReceived, Send, WakeAt, Wakeup
from acp_proxy.playback.verify.recorded_client import RecordedClient
from acp_proxy.playback.verify.verification import Verification
from acp_proxy.playback.verify.verify_requests import VerifyOptions
from acp_proxy.recording.steps import LaneFinder
from acp_proxy.store.queries.recorded_steps import RecordedSteps
from acp_proxy.store.reader import RecordingReader

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from acp_proxy.playback.shared.divergence import Divergence
    from acp_proxy.recording.steps import Step

_US, _S = 1000, 10**9


@frozen
class AgentFrame:
    """A recorded frame of the agent, and the numbers of the client's frames before it."""

    step: Step
    raw: bytes
    after: frozenset[int]


@define
class Verified:
    """The result of a verification."""

    engine: Verification
    sent: list[Send]
    recorded: dict[int, bytes]
    """The recorded frames of the client with their newlines, by number."""
    took_ns: int
    """The nanoseconds until the last message."""

    @property
    def divergences(self) -> list[Divergence]:
        """Returns all divergences except informational ones."""
        return [item for item in self.engine.state.divergences.found if item.rank != "info"]


def as_recorded(_: Step, raw: bytes) -> list[bytes]:
    """Returns the recorded line, so that the agent sends it unchanged."""
    return [raw]


def verify(
    path: Path,
    act: Callable[[Step, bytes], list[bytes]] = as_recorded,
    choose: Callable[[list[AgentFrame]], AgentFrame] = lambda ready: ready[0],
    *,
    leaves: bool = True,
    **options: Any,
) -> Verified:
    """Plays the client of a recording to an agent, and returns the result.

    Args:
        path: the path of the recording.
        act: returns the lines that the agent sends in place of a recorded frame.
        choose: selects the next frame of the agent; at most one of each lane is possible.
        leaves: whether the agent closes its output at the end, if the recorded agent did.
        **options: options of the verification.
    """
    with RecordingReader(path, unredacted=True) as reader:
        return verify_reader(reader, act, choose, leaves=leaves, **options)


def verify_reader(
    reader: RecordingReader,
    act: Callable[[Step, bytes], list[bytes]] = as_recorded,
    choose: Callable[[list[AgentFrame]], AgentFrame] = lambda ready: ready[0],
    *,
    leaves: bool = True,
    **options: Any,
) -> Verified:
    """Plays the client of an open recording to an agent; the arguments are those of `verify`."""
    frames, recorded = _read(RecordedSteps(reader))
    script = RecordedSteps(reader)
    engine = Verification(RecordedClient(script), VerifyOptions(**options))
    agent = _Agent(engine, frames)
    agent.feed(Wakeup(agent.now))
    agent.play(act, choose)
    if leaves and script.agent_left_at is not None:
        agent.feed(EndOfInput(agent.now))
    agent.wait()
    return Verified(engine, agent.sent, recorded, agent.now - _S)


def _read(script: RecordedSteps) -> tuple[list[AgentFrame], dict[int, bytes]]:
    frames: list[AgentFrame] = []
    recorded: dict[int, bytes] = {}
    received: dict[str | None, list[int]] = {}
    finder = LaneFinder()
    while steps := script.read():
        for step in steps:
            finder.place(step)
            wire = script.wire(step.seq)
            if step.from_agent:
                frames.append(AgentFrame(step, wire.raw, frozenset(received.get(step.lane, ()))))
            else:
                recorded[step.seq] = wire.raw + (wire.newline or "\n").encode()
                received.setdefault(step.lane, []).append(step.seq)
    return frames, recorded


class _Agent:
    def __init__(self, engine: Verification, frames: list[AgentFrame]) -> None:
        self.now = _S
        self.sent: list[Send] = []
        self._engine = engine
        self._todo = frames
        self._came: set[int] = set()
        self._wake_at: int | None = None

    def play(
        self,
        act: Callable[[Step, bytes], list[bytes]],
        choose: Callable[[list[AgentFrame]], AgentFrame],
    ) -> None:
        """Sends all possible frames, and lets time pass until others are possible."""
        while not self._engine.is_over:
            if ready := self._ready():
                frame = choose(ready)
                self._todo.remove(frame)
                for line in act(frame.step, frame.raw):
                    self.now += _US
                    self.feed(LineReceived(line, self.now))
            elif not self._wake():
                return

    def wait(self) -> None:
        """Lets time pass until the verification is over."""
        while not self._engine.is_over and self._wake():
            pass

    def feed(self, event: Event) -> None:
        """Passes an event to the engine, and notes what the engine sends."""
        for command in self._engine.feed(event):
            if isinstance(command, Send):
                self.sent.append(command)
                if command.seq is not None:
                    self._came.add(command.seq)
            elif isinstance(command, WakeAt):
                assert command.at is None or command.at > self.now
                self._wake_at = command.at
            else:
                self._wake_at = None

    def _wake(self) -> bool:
        if self._wake_at is None:
            return False
        self.now = self._wake_at
        self.feed(Wakeup(self.now))
        return True

    def _ready(self) -> list[AgentFrame]:
        """Returns the next frame of each lane if the client's frames before it have arrived."""
        heads: dict[str | None, AgentFrame] = {}
        for say in self._todo:
            heads.setdefault(say.step.lane, say)
        return [say for say in heads.values() if say.after <= self._came]
