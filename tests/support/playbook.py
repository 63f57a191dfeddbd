r"""Tests replays with transcripts: what was recorded, and what a replay does with it.

    recorded = record('''
        1 -> #0 initialize {"protocolVersion": 1}
        2 <- #0 result {"protocolVersion": 1}
    ''')
    live = recorded.replay()
    live.check('''
        -> #"a" initialize {"protocolVersion": 1}
        <- #"a" result {"protocolVersion": 1}
    ''')

The first transcript is the recording. Each line is a frame with its number and takes a millisecond.
Messages have the syntax of `tests.support.labelled_transcripts`. ``1-2 handshake`` stands for
`initialize` and its answer; ``1-4 session`` also opens a session ``s`` in the directory ``/p``.
``| text`` is any line, with the escapes of a Python string; ``\c`` at its end leaves out the
newline. ``.. 3s`` lets time pass. ``<- end`` ends the agent's output, ``-> end`` the client's;
``-> SIGTERM`` passes a signal on, and ``-> gives up`` is SIGTERM of a client that gave up.

The second transcript is a replay. ``-> 3`` sends frame 3 as recorded; below it stand the messages
that the replay sends then: ``<- 4`` is frame 4 byte for byte, ``refusal #2`` the error that tells
the client of a divergence, ``end`` the end, any other text a message. ``3-6`` are the recorded
frames 3 to 6. During ``.. 2s`` the engine is woken only if it has asked for this.
"""

from __future__ import annotations

import contextlib
import json
import re
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from acp_proxy.playback.events import EndOfInput, Event, Finish, LineReceived, Send, WakeAt, Wakeup
from acp_proxy.playback.replay.replay import Replay
from acp_proxy.playback.replay.replay_report import ReplayReport, report
from acp_proxy.playback.replay.replay_state import ReplayOptions
from acp_proxy.playback.shared.divergence import ERROR_CODE, Divergence, Rank
from acp_proxy.recording import log_format as capture_log
from acp_proxy.store.queries.recorded_steps import RecordedSteps
from acp_proxy.store.reader import RecordingReader
from tests.support.labelled_transcripts import frame
from tests.support.log_writer import LogWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from typing import Any, Self

    from acp_proxy.playback.events import Command
    from acp_proxy.playback.replay.recording_choice import RecordingChoice
    from acp_proxy.playback.verify.verification import Verification

Record = Callable[..., "RecordedTranscript"]
"""A function that makes a recording of a transcript in the directory of a test."""
NS = {"ms": 10**6, "s": 10**9}
START_NS = 77 * 10**9
"""The time in nanoseconds when each replay begins."""
_RECORDED = re.compile(r"(?:(?P<number>\d+) )?(?P<arrow>->|<-|\.\.) (?P<what>.+)")
_LIVE = re.compile(r"(?P<arrow>->|<-|\.\.) (?P<what>.+)")
_HANDSHAKE = (
    '1 -> #0 initialize {"protocolVersion": 1}',
    '2 <- #0 result {"protocolVersion": 1}',
)
_BEGINNINGS = {
    "1-2 handshake": _HANDSHAKE,
    "1-4 session": (
        *_HANDSHAKE,
        '3 -> #1 session/new {"cwd": "/p"}',
        '4 <- #1 result {"sessionId": "s"}',
    ),
}
_FRAMES = "SELECT seq, stream FROM frames WHERE stream IN ('to-agent', 'to-client') ORDER BY seq"
_STREAMS = {"->": capture_log.TO_AGENT, "<-": capture_log.TO_CLIENT}


class RecordedTranscript:
    """A recording of a transcript."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader = RecordingReader(path, unredacted=True)
        script = self.script()
        frames = self._reader.connection.execute(_FRAMES).fetchall()
        self.numbers: dict[int, int] = {seq: number for number, (seq, _) in enumerate(frames, 1)}
        """The number of each frame in the transcript, by its number in the recording."""
        wires = {number: script.wire(seq) for seq, number in self.numbers.items()}
        self.raw = {n: wire.raw + wire.newline.encode() for n, wire in wires.items()}
        """The recorded bytes of each frame with its newline, by its number in the transcript."""
        self._arrows = ["->" if stream == "to-agent" else "<-" for _, stream in frames]

    def lines(self, transcript: str) -> Iterator[str]:
        """Yields the lines of a played transcript; ``3-6`` gives a line for each frame."""
        for line in lines(transcript):
            if (match := re.fullmatch(r"(\d+)-(\d+)", line)) is None:
                yield line
            else:
                for number in range(int(match[1]), int(match[2]) + 1):
                    yield f"{self._arrows[number - 1]} {number}"

    def replay(self, *sent: int, **options: Any) -> Live:
        """Begins a replay, to which the client has already sent some frames."""
        live = Live(Replay(self.script(), ReplayOptions(**options)), self)
        if sent:
            live.send(*sent)
        return live

    def script(self, *, as_sent: bool = False) -> RecordedSteps:
        """Returns a reader of the recording's steps, at the first step."""
        return RecordedSteps(self._reader, as_sent=as_sent)

    def seq(self, number: int) -> int:
        """Returns a frame's number in the recording, by its number in the transcript."""
        return next(seq for seq, known in self.numbers.items() if known == number)

    def close(self) -> None:
        """Closes the recording; replays of it cannot continue."""
        self._reader.close()


def record(directory: Path, transcript: str, **start: Any) -> RecordedTranscript:
    """Makes a recording of a transcript.

    Raises:
        ValueError: a line is not in the form of a transcript, or its number is not the next one.
    """
    path = directory / f"transcript-{len(list(directory.iterdir()))}.db"
    with LogWriter(path, **start) as recorder:
        number = 1
        for line in lines(transcript):
            if not (match := _RECORDED.fullmatch(line)) or match["number"] not in (
                None,
                str(number),
            ):
                raise ValueError(
                    f"expected a line such as '{number} -> session/cancel {{}}', got {line!r}"
                )
            number += _write_line(recorder, match["arrow"], match["what"])
        recorder.end()
        recorder.close()
        recorder.finish()
    return RecordedTranscript(path)


def _write_line(recorder: LogWriter, arrow: str, what: str) -> int:
    """Writes one line of a transcript into the log; returns how many frames it has."""
    if arrow == "..":
        recorder.t_ns += duration(what)
        return 0
    if what == "end":
        recorder.event(capture_log.END, _STREAMS[arrow], reason="end of file")
        return 0
    if what == "gives up":
        recorder.event(capture_log.SIGNAL, signal=signal.SIGTERM.value, reason=capture_log.GAVE_UP)
        return 0
    if what in signal.Signals.__members__:
        recorder.event(capture_log.SIGNAL, signal=signal.Signals[what].value, action="passed on")
        return 0
    recorder.chunk(_STREAMS[arrow], wire(what))
    return 1


class Played:
    """A playback engine that runs; the test plays the peer and reads the engine's messages.

    Attributes:
        engine: the engine.
        now: the current time in nanoseconds.
        sent: the sent messages, each with its time in milliseconds since the beginning.
        bytes: all sent bytes.
    """

    arrow = "<-"
    """The arrow of a transcript for messages that the engine sends."""

    def __init__(
        self, engine: Replay | RecordingChoice | Verification, recorded: RecordedTranscript
    ) -> None:
        self.engine = engine
        self.now = START_NS
        self.sent: list[tuple[str, float]] = []
        self.bytes = b""
        self._unread: list[str] = []
        self._recorded = recorded
        self._wake_at: int | None = None
        self._feed(Wakeup(self.now))

    def check(self, transcript: str) -> Self:
        """Plays the peer's lines of a transcript; compares the engine's messages with it."""
        written = [*map(self._normal, self._recorded.lines(transcript))]
        assert list(self._play(written)) == written
        return self

    @property
    def mismatches(self) -> list[str]:
        """Returns all divergences except informational ones: kind, rank, lane and frame."""
        return [
            self._told(divergence)
            for divergence in self.divergences
            if divergence.rank is not Rank.INFO
        ]

    @property
    def informed(self) -> list[str]:
        """Returns the informational divergences: kind, lane and frame."""
        return [
            self._told(divergence)
            for divergence in self.divergences
            if divergence.rank is Rank.INFO
        ]

    @property
    def divergences(self) -> list[Divergence]:
        """Returns all divergences so far."""
        return self.engine.state.divergences.found

    def _play(self, written: list[str]) -> Iterator[str]:
        """Yields each line of the peer, and after it the messages that the engine sends."""
        yield from self._news()
        for line in written:
            match = _LIVE.fullmatch(line)
            if match is None:
                raise ValueError(f"expected a line such as '-> 3' or '<- 4', got {line!r}")
            if match["arrow"] != self.arrow:
                yield line
                self._do(match["arrow"], match["what"])
                yield from self._news()

    def _do(self, arrow: str, what: str) -> None:
        if arrow == "..":
            self._pass(self.now + duration(what))
        elif what == "end":
            self._feed(EndOfInput(self.now))
        else:
            data = self._recorded.raw[int(what)] if what.isdigit() else wire(what)
            self._feed(LineReceived(self._line(data), self.now))

    def _line(self, data: bytes) -> bytes:
        """Returns a line as the engine receives it, without its newline."""
        return data.removesuffix(b"\n")

    def _pass(self, until: int) -> None:
        while self._wake_at is not None and self._wake_at <= until:
            self.now = max(self.now, self._wake_at)
            self._feed(Wakeup(self.now))
        self.now = until

    def _feed(self, event: Event) -> None:
        self._obey(self.engine.feed(event))

    def _obey(self, commands: Iterable[Command]) -> None:
        for command in commands:
            match command:
                case Send():
                    self.bytes += command.data
                    self._note(self._described(command))
                case WakeAt(at):
                    assert at is None or at > self.now, "expected a moment that is still to come"
                    self._wake_at = at
                case Finish():
                    self._wake_at = None
                    self._note("end")

    def _note(self, what: str) -> None:
        self.sent.append((what, (self.now - START_NS) / 10**6))
        self._unread.append(f"{self.arrow} {what}")

    def _news(self) -> Iterator[str]:
        news, self._unread = self._unread, []
        yield from news

    def _described(self, command: Send) -> str:
        number = self._recorded.numbers.get(command.seq or 0)
        if number is not None and command.data == self._recorded.raw[number]:
            return str(number)
        with contextlib.suppress(ValueError):
            message = json.loads(command.data)
            error = message.get("error", {}) if isinstance(message, dict) else {}
            if error.get("code") == ERROR_CODE:
                return f"refusal #{json.dumps(message['id'])}"
        return _shown(command.data)

    def _normal(self, line: str) -> str:
        """Returns a transcript line in the form in which sent messages are compared."""
        arrow, _, what = line.partition(" ")
        if arrow != self.arrow or what == "end" or what.isdigit() or what.startswith("refusal "):
            return line
        return f"{arrow} {_shown(wire(what))}"

    def _told(self, divergence: Divergence) -> str:
        number = "" if divergence.seq is None else f" {self._recorded.numbers[divergence.seq]}"
        rank = f" {divergence.rank}" if divergence.rank is not Rank.INFO else ""
        return f"{divergence.kind}{rank} in {divergence.lane}{number}"


class Playing(Played):
    """A replay of an agent; the test is the client."""

    def send(self, *messages: str | int) -> list[str]:
        """Sends messages of a transcript; returns the messages that the replay sends then."""
        for message in messages:
            self._do("->", str(message))
        return [*self._news()]

    def wait(self, time: str) -> list[str]:
        """Lets time pass; returns the messages that the replay sends meanwhile."""
        self._do("..", time)
        return [*self._news()]

    def leave(self) -> list[str]:
        """Closes the client's end; returns the messages that the replay sends then."""
        self._do("->", "end")
        return [*self._news()]

    def _line(self, data: bytes) -> bytes:
        return super()._line(data).removesuffix(b"\r")


class Live(Playing):
    """A replay that runs."""

    engine: Replay

    @property
    def report(self) -> ReplayReport:
        """Returns the report of the replay."""
        return report(self.engine, "recorded", is_incomplete=False)

    def near(self, divergence: Divergence) -> list[int]:
        """Returns the numbers of the similar recorded messages that a divergence lists."""
        return [self._recorded.numbers[miss.seq] for miss in divergence.near_misses]


def lines(transcript: str) -> list[str]:
    """Returns the lines of a transcript without comments, and with all lines of a beginning."""
    results = (line.strip() for line in transcript.strip().splitlines())
    return [
        whole
        for line in results
        if line and not line.startswith("# ")
        for whole in _BEGINNINGS.get(line, (line,))
    ]


def wire(what: str | bytes) -> bytes:
    """Returns the bytes of a message in a transcript, with its newline."""
    if isinstance(what, bytes):
        return what
    if not what.startswith("| "):
        return frame(what) + b"\n"
    text, newline = what.removeprefix("| "), b"\n"
    if text.endswith("\\c"):
        text, newline = text.removesuffix("\\c"), b""
    escaped = text.encode("latin-1", "backslashreplace")
    return escaped.decode("unicode_escape").encode("latin-1") + newline


def duration(what: str) -> int:
    """Returns the nanoseconds of a time such as ``3s`` or ``0.5ms``."""
    match = re.fullmatch(r"([\d.]+)(ms|s)", what)
    if match is None:
        raise ValueError(f"expected a time such as 3s or 20ms, got {what!r}")
    return round(float(match[1]) * NS[match[2]])


def _shown(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace").rstrip("\n")
