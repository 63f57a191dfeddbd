"""A client in this process that plays any recording, exactly or with changes.

It sends a recorded frame of the client when the replay has sent all frames of the agent that come
before it in its lane. Tests can replace any frame. `scripted_client` plays recordings, too, but
shares no code with this module, so that each can test the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field, frozen

from acp_proxy.playback.events import EndOfInput, Event, LineReceived, Send, WakeAt, Wakeup
from acp_proxy.playback.replay.replay import Replay
from acp_proxy.playback.replay.replay_state import ReplayOptions
from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.steps import LaneFinder
from acp_proxy.store.queries.recorded_steps import RecordedSteps
from tests.support import captures
from tests.support.log_writer import LogWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import Any

    from acp_proxy.playback.shared.divergence import Divergence
    from acp_proxy.recording.steps import Step
    from acp_proxy.store.reader import RecordingReader

_US = 1000
_S = 10**9
_STREAMS = {
    "to-agent": capture_log.TO_AGENT,
    "to-client": capture_log.TO_CLIENT,
    "stderr": capture_log.STDERR,
}


@frozen
class ClientFrame:
    """A recorded frame of the client, and the numbers of the agent's frames before it."""

    step: Step
    raw: bytes
    after: frozenset[int]


@define
class Conversation:
    """All frames of a recording by lane, for playing; its reader must stay open."""

    reader: RecordingReader
    frames: list[ClientFrame] = field(factory=list)
    lanes: dict[str | None, list[int]] = field(factory=dict)
    """The numbers of the agent's frames, by lane."""
    lines: dict[int, bytes] = field(factory=dict)
    """The agent's frames with their newlines, by number."""
    steps: list[Step] = field(factory=list)

    @classmethod
    def load(cls, reader: RecordingReader) -> Conversation:
        """Reads all frames of a recording."""
        results, finder = cls(reader), LaneFinder()
        script = RecordedSteps(reader)
        while steps := script.read():
            for step in steps:
                finder.place(step)
                wire = script.wire(step.seq)
                results._add(step, wire.raw, wire.newline.encode())
        return results

    @property
    def path(self) -> Path:
        """Returns the path of the recording."""
        return self.reader.path

    def _add(self, step: Step, raw: bytes, newline: bytes) -> None:
        self.steps.append(step)
        lane = self.lanes.setdefault(step.lane, [])
        if step.from_agent:
            lane.append(step.seq)
            self.lines[step.seq] = raw + newline
        elif not self.frames or self.frames[-1].step.seq != step.seq:
            self.frames.append(ClientFrame(step, raw, frozenset(lane)))

    @property
    def required(self) -> list[Step]:
        """Returns the awaited messages of the client."""
        return [say.step for say in self.frames if say.step.is_awaited]

    def sent_in(self, lane: str | None) -> bytes:
        """Returns all bytes that the agent sent in a lane."""
        return b"".join(self.lines[seq] for seq in self.lanes[lane])

    @property
    def whole(self) -> bytes:
        """Returns all bytes that the agent sent."""
        return b"".join(self.lines[seq] for seq in sorted(self.lines))


@define
class Played:
    """The result of a replay."""

    conversation: Conversation
    sent: list[Send]
    divergences: list[Divergence]
    verdict: Any

    def received(self, lane: str | None) -> bytes:
        """Returns the bytes that the client received in a lane."""
        of_lane = set(self.conversation.lanes[lane])
        return b"".join(send.data for send in self.sent if send.seq in of_lane)

    @property
    def stream(self) -> bytes:
        """Returns all bytes that the client received."""
        return b"".join(send.data for send in self.sent)

    @property
    def counted(self) -> list[Divergence]:
        """Returns all divergences except informational ones."""
        return [divergence for divergence in self.divergences if divergence.rank != "info"]

    @property
    def primary(self) -> list[Divergence]:
        """Returns the divergences that are not consequences of others."""
        return [divergence for divergence in self.divergences if divergence.rank == "primary"]


def as_recorded(_: Step, raw: bytes) -> list[bytes]:
    """Returns the recorded line, so that the client sends it unchanged."""
    return [raw]


def play(
    conversation: Conversation,
    act: Callable[[Step, bytes], list[bytes]] = as_recorded,
    choose: Callable[[list[ClientFrame]], ClientFrame] = lambda ready: ready[0],
    **options: Any,
) -> Played:
    """Plays a recording to a client, and returns the result.

    Args:
        conversation: the recording.
        act: returns the lines that the client sends in place of a recorded message.
        choose: selects the next message of the client; at most one of each lane is possible.
        **options: options of the replay.
    """
    engine = Replay(RecordedSteps(conversation.reader), ReplayOptions(**options))
    client = _Client(conversation, engine)
    client.feed(Wakeup(client.now))
    client.play(act, choose)
    client.feed(EndOfInput(client.now))
    judge = engine.state.divergences
    return Played(conversation, client.sent, judge.found, judge.has_diverged)


class _Client:
    def __init__(self, conversation: Conversation, engine: Replay) -> None:
        self.now = _S
        self.sent: list[Send] = []
        self._engine = engine
        self._todo = list(conversation.frames)
        self._out: set[int] = set()
        self._is_over = False
        self._wake_at: int | None = None

    def play(
        self,
        act: Callable[[Step, bytes], list[bytes]],
        choose: Callable[[list[ClientFrame]], ClientFrame],
    ) -> None:
        """Sends all possible messages, and waits at most two seconds for the next."""
        while True:
            while ready := self.ready():
                self.send(choose(ready), act)
            if self._wake_at is None or self._wake_at > self.now + 2 * _S:
                return
            self.now = self._wake_at
            self.feed(Wakeup(self.now))

    def ready(self) -> list[ClientFrame]:
        """Returns the next message of each lane if the frames before it have arrived."""
        heads: dict[str | None, ClientFrame] = {}
        for say in self._todo:
            heads.setdefault(say.step.lane, say)
        waiting = [say for say in heads.values() if say.after <= self._out]
        return [] if self._is_over else sorted(waiting, key=lambda say: say.step.seq)

    def send(self, frame: ClientFrame, act: Callable[[Step, bytes], list[bytes]]) -> None:
        """Sends the lines that the client sends in place of a recorded message."""
        self._todo.remove(frame)
        for line in act(frame.step, frame.raw):
            self.now += _US
            self.feed(LineReceived(line, self.now))

    def feed(self, event: Event) -> None:
        """Passes an event to the engine, and notes what the engine sends."""
        for command in self._engine.feed(event):
            if isinstance(command, Send):
                self.sent.append(command)
                if command.seq is not None:
                    self._out.add(command.seq)
            elif isinstance(command, WakeAt):
                self._wake_at = command.at
            else:
                self._is_over, self._wake_at = True, None


def record_capture(capture: Path, directory: Path) -> Path:
    """Makes a recording of a captured conversation, with the same chunks."""
    path = directory / f"{capture.parent.name}-{capture.name.split('.jsonl')[0]}.db"
    with LogWriter(path) as recorder:
        for record in captures.load(capture).records:
            recorder.t_ns = record.t_ns
            _write(recorder, record)
        recorder.close()
        recorder.finish()
    return path


def _write(recorder: LogWriter, record: captures.Record) -> None:
    match record:
        case captures.Read(_, stream, data):
            recorder.chunk(_STREAMS[stream], data)
        case captures.StreamEnd(_, stream):
            recorder.event(capture_log.END, _STREAMS[stream], reason="end of file")
        case captures.Exit(_, code):
            recorder.event(capture_log.EXIT, **({"code": code} if code >= 0 else {"signal": -code}))


def recordings(directory: Path) -> Iterator[Path]:
    """Yields the recordings in the repository, and a recording of each capture."""
    yield from sorted((captures.ROOT.parents[2] / "recordings").glob("*.db"))
    for capture in captures.all_captures():
        yield record_capture(capture, directory)
