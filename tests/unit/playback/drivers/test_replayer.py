# ruff: noqa: ARG001  (a test that names the clock runs on it)
"""Tests the driver of a replay, which reads lines and writes bytes, on a mock clock."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import signal
from typing import TYPE_CHECKING
from unittest import mock

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from acp_proxy.cli.playback.replay import answer_first
from acp_proxy.playback.drivers import replayer as replayer_module
from acp_proxy.playback.drivers.replayer import Descriptor, Replayer
from acp_proxy.playback.drivers.verifier import Verifier
from acp_proxy.playback.events import Command, Event, LineReceived, Send
from acp_proxy.playback.replay.recording_choice import RecordingChoice
from acp_proxy.playback.replay.replay import Replay
from acp_proxy.playback.replay.replay_state import ReplayOptions
from acp_proxy.playback.shared.playback_options import Order, Pacing
from acp_proxy.playback.verify.scripted_client import ScriptedClient
from acp_proxy.record.capture.pumps import wait_until_ready

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any

    from tests.support.playbook import Record, RecordedTranscript

TALK = """
    1 -> #0 initialize {"protocolVersion": 1}
    .. 249ms
    2 <- #0 result {"protocolVersion": 1}
    .. 60s
    3 -> #1 session/new {"cwd": "/a"}
    4 <- #1 result {"sessionId": "a"}
    5 -> #2 session/new {"cwd": "/b"}
    6 <- #2 result {"sessionId": "b"}
    7 -> #3 session/prompt {"sessionId": "a", "prompt": []}
    8 -> #4 session/prompt {"sessionId": "b", "prompt": []}
    .. 497ms
    9 <- session/update {"sessionId": "a", "update": {"text": "é 你 😀"}}
    .. 998ms
    10 <- session/update {"sessionId": "b", "update": {}}
    11 <- #0 fs/read_text_file {"sessionId": "a", "path": "/a/x"}
    12 <- #4 result {"stopReason": "end_turn"}
    13 -> #0 result {"content": "x"}
    14 <- #3 result {"stopReason": "end_turn"}
"""
LANE_A, LANE_B = (4, 9, 11, 14), (6, 10, 12)


@pytest.fixture
def recorded(record: Record) -> RecordedTranscript:
    """A recording of a conversation in two sessions."""
    return record(TALK)


class Client:
    """The client's ends of the streams of a replay that runs in the background."""

    def __init__(self, recorded: RecordedTranscript, nursery: trio.Nursery, **options: Any) -> None:
        self.recorded = recorded
        self.replay = Replay(recorded.script(), ReplayOptions(**options))
        self.heard = b""
        self.ended = trio.Event()
        self.into, source = memory_stream_pair()
        self.sink, self._out = memory_stream_pair()
        nursery.start_soon(self._run, source)

    async def _run(self, source: trio.abc.ReceiveStream) -> None:
        await Replayer(self.replay, source.receive_some, self.sink.send_all).run()
        self.ended.set()
        await self.sink.aclose()

    async def send(self, *numbers: int) -> None:
        """Sends recorded frames to the replay."""
        await self.into.send_all(b"".join(self.recorded.raw[number] for number in numbers))

    async def expect(self, *numbers: int) -> float:
        """Asserts that exactly the given frames come; returns the time of the last one."""
        wanted = b"".join(self.recorded.raw[number] for number in numbers)
        heard = b""
        while len(heard) < len(wanted):
            heard += await self._out.receive_some()
        assert heard == wanted
        self.heard += heard
        return trio.current_time()

    @property
    def divergence_kinds(self) -> list[str]:
        """Returns the kinds of the divergences that the replay has noted."""
        return [divergence.kind.value for divergence in self.replay.state.divergences.found]


@pytest.fixture
def clock() -> MockClock:
    """A clock that jumps to the next deadline."""
    return MockClock(autojump_threshold=0)


def at(seconds: float) -> Any:
    """Returns a time with the precision of trio's clock."""
    return pytest.approx(seconds, abs=2e-9)


async def test_recorded_timing_is_exact(recorded: RecordedTranscript, clock: MockClock) -> None:
    """With recorded timing, a replay sends each frame exactly after the recorded gap."""
    async with trio.open_nursery() as nursery:
        client = Client(recorded, nursery, pacing=Pacing(1.0))
        await client.send(1)
        assert await client.expect(2) == at(0.25)
        await trio.sleep(3)
        await client.send(3)
        assert await client.expect(4) == at(3.251)
        await client.send(5)
        assert await client.expect(6) == at(3.252)
        await client.send(7, 8)  # recorded a millisecond after another
        assert await client.expect(9) == at(3.252 + 0.499)
        assert await client.expect(10) == at(3.252 + 1.497)
        assert await client.expect(11, 12) == at(3.252 + 1.499)
        await trio.sleep(20)
        await client.send(13)
        assert await client.expect(14) == at(24.752)
        nursery.cancel_scope.cancel()


async def test_a_missing_message_is_noticed_in_time(
    recorded: RecordedTranscript, clock: MockClock
) -> None:
    """If the client skips a recorded message, a replay reports it as missing after a second."""
    async with trio.open_nursery() as nursery:
        client = Client(recorded, nursery)
        await client.send(1, 3)
        await client.expect(2, 4)
        await client.send(13)
        await trio.sleep(0.5)
        assert client.divergence_kinds == ["unknown-reply-id"]
        await client.into.aclose()
        await client.ended.wait()


async def test_a_silent_client_stalls_the_replay(
    recorded: RecordedTranscript, clock: MockClock
) -> None:
    """If the client is silent for the stall timeout, a replay ends as stalled."""
    async with trio.open_nursery() as nursery:
        client = Client(recorded, nursery, stall_ns=5 * 10**9)
        await client.send(1)
        await client.expect(2)
        await client.ended.wait()
        assert trio.current_time() == at(5.0)
    assert set(client.divergence_kinds) == {"stall"}


async def test_a_client_that_does_not_read_stalls_the_replay(
    recorded: RecordedTranscript, clock: MockClock
) -> None:
    """If the client does not read for the stall timeout, a replay ends as stalled."""
    async with trio.open_nursery() as nursery:
        client = Client(recorded, nursery, stall_ns=5 * 10**9)
        client.sink.send_stream.send_all_hook = trio.sleep_forever
        await client.send(1)
        await client.ended.wait()
        assert trio.current_time() == at(5.0)
    assert client.divergence_kinds == ["stall"]


async def broken() -> None:
    """Raises the error of a write to a pipe without a reader."""
    raise trio.BrokenResourceError


async def test_a_broken_pipe_is_no_error(recorded: RecordedTranscript, clock: MockClock) -> None:
    """If a write to the client fails, a replay reads the client's input to its end."""
    async with trio.open_nursery() as nursery:
        client = Client(recorded, nursery)
        client.sink.send_stream.send_all_hook = broken
        await client.send(1, 3, 5)
        await client.into.aclose()
        await client.ended.wait()
    assert "missing-expected" in client.divergence_kinds


async def test_a_last_line_without_a_newline_counts(
    recorded: RecordedTranscript, clock: MockClock
) -> None:
    """A replay reads the client's last line even if it has no newline."""
    async with trio.open_nursery() as nursery:
        client = Client(recorded, nursery)
        await client.into.send_all(
            recorded.raw[1].replace(b"\n", b"\r\n") + recorded.raw[3].rstrip()
        )
        await client.into.aclose()
        await client.expect(2, 4)
        await client.ended.wait()
    assert client.replay.lines == 2


async def test_a_client_whose_stream_breaks_has_left(
    recorded: RecordedTranscript, clock: MockClock
) -> None:
    """If reading from the client fails, a replay treats this as the end of the input."""
    replay = Replay(recorded.script(), ReplayOptions())
    _, source = memory_stream_pair()
    source.receive_stream.receive_some_hook = broken
    sink, _ = memory_stream_pair()
    await Replayer(replay, source.receive_some, sink.send_all).run()
    assert replay.is_over


async def test_descriptors_are_read_and_written(tmp_path: Path) -> None:
    """A replay can also read its input from a plain file and write its output to a plain file."""
    file = tmp_path / "file"
    with file.open("wb") as written:
        await Descriptor(written.fileno()).write(b"abc")
    with file.open("rb") as read:
        source = Descriptor(read.fileno())
        assert await source.read(2) == b"ab"
        assert await source.read(9) == b"c"
        assert await source.read(9) == b""
        with pytest.raises(trio.BrokenResourceError):
            await Descriptor(read.fileno()).write(b"x")


async def test_a_descriptor_may_be_non_blocking(monkeypatch: pytest.MonkeyPatch) -> None:
    """If stdin and stdout of a replay are non-blocking, the replay loses no output."""
    (source, into), (out, sink) = os.pipe(), os.pipe()
    for fd in (source, out, sink):
        os.set_blocking(fd, False)
    heard, waits = bytearray(), 0

    def go_on(fd: int, *, writing: bool) -> None:
        nonlocal waits
        waits += 1
        if writing:
            heard.extend(os.read(out, 1 << 20))
        else:
            os.write(into, b"abc")
        wait_until_ready(fd, writing=writing)

    monkeypatch.setattr(replayer_module, "wait_until_ready", go_on)
    data = random.Random(1).randbytes(300_000)
    assert await Descriptor(source).read(9) == b"abc"
    await Descriptor(sink).write(data)
    while len(heard) < len(data):
        heard += os.read(out, 1 << 20)
    assert heard == data
    assert waits > 1
    for fd in (source, into, out, sink):
        os.close(fd)


class First(RecordingChoice):
    """An engine that answers the first line."""

    answer = b"answer\n" * 1000

    def __init__(self) -> None:
        super().__init__([])

    def feed(self, event: Event) -> Iterator[Command]:
        """Answers a line of the client."""
        assert event == LineReceived(b"first", mock.ANY)
        yield Send(self.answer)


def test_the_first_answer_goes_out_as_far_as_there_is_room() -> None:
    """If the pipe is full when a replay sends its first answer, unsent bytes are kept for later."""
    (source, into), (out, sink) = os.pipe(), os.pipe()
    os.set_blocking(sink, False)
    os.write(into, b"first\r\nsecond\nthird")
    rest, unsaid = answer_first(First(), source, sink)
    assert rest == b"second\nthird"
    assert os.read(out, 1 << 16) + unsaid == First.answer
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(sink, b"x" * 1000)
    os.write(into, b"first\n")
    assert answer_first(First(), source, sink) == (b"", First.answer)
    for fd in (source, into, out, sink):
        os.close(fd)


def test_an_unreadable_client_gets_no_first_answer() -> None:
    """If a replay cannot read the client's first line, it sends no answer."""
    source = os.open("/", os.O_RDONLY)
    assert answer_first(First(), source, -1) == (b"", b"")
    os.close(source)


async def test_a_stop_signal_is_an_end_of_input(
    recorded: RecordedTranscript, clock: MockClock
) -> None:
    """A replay treats SIGTERM like the end of its input."""
    replay = Replay(recorded.script(), ReplayOptions())
    _, source = memory_stream_pair()
    sink, _ = memory_stream_pair()
    replayer = Replayer(replay, source.receive_some, sink.send_all)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(replayer.run)
        await trio.testing.wait_all_tasks_blocked()
        signal.raise_signal(signal.SIGTERM)
    assert replayer.was_stopped
    assert replay.is_over


class Jittery(trio.abc.ReceiveStream):
    """A stream that returns random pieces after random times."""

    def __init__(self, stream: trio.abc.ReceiveStream, chance: random.Random) -> None:
        self._stream = stream
        self._chance = chance

    async def receive_some(self, max_bytes: int | None = None) -> bytes:  # noqa: ARG002
        """Returns a piece of random size."""
        if self._chance.random() < 0.3:
            await trio.sleep(self._chance.random() / 2)
        return bytes(await self._stream.receive_some(self._chance.choice([1, 7, 60, 4096])))

    async def aclose(self) -> None:
        """Closes the stream that is wrapped."""
        await self._stream.aclose()


async def talk_once(recorded: RecordedTranscript, chance: random.Random, order: Order) -> bytes:
    """Plays a scripted client against a replay over unreliable streams; returns what it got."""
    into, source = memory_stream_pair()
    sink, out = memory_stream_pair()
    heard = bytearray()

    class Tapped(Jittery):
        async def receive_some(self, max_bytes: int | None = None) -> bytes:
            data = await super().receive_some(max_bytes)
            heard.extend(data)
            return data

    replay = Replay(recorded.script(), ReplayOptions(order=order))
    client = ScriptedClient(recorded.script())

    async def agent() -> None:
        await Replayer(replay, Jittery(source, chance).receive_some, sink.send_all).run()
        await sink.aclose()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(agent)
        await Verifier(client, Tapped(out, chance), into).run()
    assert client.is_done
    assert replay.state.divergences.found == []
    return bytes(heard)


async def test_the_scripted_client_reads_a_last_line_without_a_newline(
    recorded: RecordedTranscript,
) -> None:
    """`python -m acp_proxy.client` reads the agent's last line even if it has no newline."""
    into, source = memory_stream_pair()
    sink, out = memory_stream_pair()
    client = ScriptedClient(recorded.script())
    lines = [recorded.raw[n].replace(b"\n", b"\r\n") for n in (2, 4, 6, 9, 10, 11, 12)]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(Verifier(client, out, into).run)
        await sink.send_all(b"".join(lines) + recorded.raw[14].rstrip(b"\n"))
        await trio.testing.wait_all_tasks_blocked()
        await sink.aclose()
    assert client.is_done
    assert client.unexpected is None
    await source.aclose()


@pytest.mark.parametrize("runs", [200, pytest.param(1000, marks=pytest.mark.soak)])
async def test_all_runs_are_equal(
    recorded: RecordedTranscript, clock: MockClock, runs: int
) -> None:
    """A replay sends the recorded bytes, however the client's input is split into chunks."""
    lanes = [{recorded.raw[n] for n in lane} for lane in (LANE_A, LANE_B)]
    hashes: dict[Order, set[str]] = {Order.SESSION: set(), Order.RECORDED: set()}
    for seed in range(runs):
        order = Order.RECORDED if seed % 2 else Order.SESSION
        heard = await talk_once(recorded, random.Random(seed), order)
        if order is Order.SESSION:
            lines = heard.splitlines(keepends=True)
            heard = b"".join(line for lane in lanes for line in lines if line in lane)
        hashes[order].add(hashlib.sha256(heard).hexdigest())
    whole = b"".join(recorded.raw[n] for n in (2, 4, 6, 9, 10, 11, 12, 14))
    by_lane = b"".join(recorded.raw[n] for n in LANE_A + LANE_B)
    assert hashes[Order.RECORDED] == {hashlib.sha256(whole).hexdigest()}
    assert hashes[Order.SESSION] == {hashlib.sha256(by_lane).hexdigest()}
