"""Tests faults between a replay and its client, on trio's mock clock."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
import trio
from trio.testing import MockClock, memory_stream_one_way_pair, wait_all_tasks_blocked

from acp_proxy.faults.fault import ExitEffect, SignalEffect
from acp_proxy.faults.fault_engine import FaultEngine
from acp_proxy.playback.drivers.event_loop import now_ns
from acp_proxy.playback.drivers.replay_faults import ReplayFaults, let_go_on_signal
from tests.support.fault_playbook import plan_of

if TYPE_CHECKING:
    from acp_proxy.playback.drivers.replayer import ReadSome, WriteAll


class Replayed:
    """Stands for an agent and a client, with faults between them. The test plays both peers."""

    def __init__(self, *rules: str) -> None:
        self.client_out, source = memory_stream_one_way_pair()
        sink, self.client_in = memory_stream_one_way_pair()
        stderr, self.stderr = memory_stream_one_way_pair()
        self.sink = sink
        self.engine = FaultEngine(plan_of(*rules), 1, now_ns())
        self.streams = ReplayFaults(
            self.engine, source.receive_some, sink.send_all, stderr.send_all, sink.close, now_ns
        )
        self.heard: list[bytes] = []
        self.out: WriteAll
        self.is_over = False
        self._heard = b""
        self._done = trio.Event()

    async def run(self) -> None:
        """Runs the streams until the agent has ended."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.listen)
            await self.streams.run(self._agent)
            self.is_over = True
            self.sink.close()

    def leave(self) -> None:
        """Ends the agent."""
        self._done.set()

    async def _agent(self, read: ReadSome, write: WriteAll) -> None:
        self.out = write
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._hear, read)
            await self._done.wait()
            nursery.cancel_scope.cancel()

    async def _hear(self, read: ReadSome) -> None:
        while data := await read(4096):
            self.heard.append(bytes(data))
        self.heard.append(b"")

    async def client_heard(self) -> bytes:
        """Returns the bytes that came to the client since the last call; ``$`` marks their end."""
        await wait_all_tasks_blocked()
        heard, self._heard = self._heard, b""
        return heard

    async def listen(self) -> None:
        """Collects the bytes that come to the client."""
        while chunk := await self.client_in.receive_some():
            self._heard += chunk
        self._heard += b"$"


async def started(nursery: trio.Nursery, *rules: str) -> Replayed:
    """Makes an agent and a client with faults between them, and runs the streams."""
    replayed = Replayed(*rules)
    nursery.start_soon(replayed.run)
    await wait_all_tasks_blocked()
    return replayed


async def test_lines_pass_in_both_directions(nursery: trio.Nursery) -> None:
    """In a replay with the fault `noop`, all lines pass unchanged in both directions."""
    replayed = await started(nursery, "noop")
    await replayed.client_out.send_all(b"a\r\nb")
    await replayed.client_out.send_all(b"b\nc")
    await replayed.client_out.aclose()
    await replayed.out(b"x\ny")
    assert await replayed.client_heard() == b"x\n"
    assert replayed.heard == [b"a\r\n", b"bb\n", b"c", b""]
    replayed.leave()
    assert await replayed.client_heard() == b"y$"
    await wait_all_tasks_blocked()
    assert replayed.is_over


async def test_what_is_late_comes_when_it_is_due(
    nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    """Bytes that a fault of a replay delays arrive when they are due."""
    replayed = await started(nursery, "latency latency_ms=500 where=dir:to-client times=1")
    await replayed.out(b"x\n")
    mock_clock.jump(0.499)
    assert await replayed.client_heard() == b""
    mock_clock.jump(0.002)
    assert await replayed.client_heard() == b"x\n"
    await replayed.out(b"y\n")
    assert await replayed.client_heard() == b"y\n"


async def test_the_agent_ends_when_all_has_gone_out(
    nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    """A replay with faults runs until all delayed frames have been sent."""
    replayed = await started(
        nursery, "latency latency_ms=3000 where=text:x", "reorder where=text:h"
    )
    await replayed.out(b"x\nh\n")
    replayed.leave()
    assert await replayed.client_heard() == b""
    assert not replayed.is_over
    mock_clock.jump(3.1)
    assert await replayed.client_heard() == b"x\nh\n$"
    await wait_all_tasks_blocked()
    assert replayed.is_over


async def test_a_client_that_has_left_is_not_waited_for_long(
    nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    """If the client has left, a replay does not wait for bytes that a fault delays by a minute."""
    replayed = await started(nursery, "latency latency_ms=60000 where=dir:to-client")
    await replayed.out(b"x\n")
    await replayed.client_out.aclose()
    replayed.leave()
    await wait_all_tasks_blocked()
    mock_clock.jump(5.1)
    await wait_all_tasks_blocked()
    assert replayed.is_over


async def test_a_signal_counts_as_leaving_when_all_is_sent(
    nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    """After SIGTERM, a replay waits at most five seconds for bytes that a fault delays."""
    replayed = Replayed("latency latency_ms=60000 where=dir:to-client")
    await nursery.start(let_go_on_signal, replayed.streams)
    nursery.start_soon(replayed.run)
    await wait_all_tasks_blocked()
    await replayed.out(b"x\n")
    replayed.leave()
    await wait_all_tasks_blocked()
    signal.raise_signal(signal.SIGTERM)
    await wait_all_tasks_blocked()
    mock_clock.jump(4.9)
    signal.raise_signal(signal.SIGTERM)
    await wait_all_tasks_blocked()
    assert not replayed.is_over
    mock_clock.jump(0.2)
    await wait_all_tasks_blocked()
    assert replayed.is_over


@pytest.mark.parametrize(
    ("rule", "fate"),
    [
        ("kill", SignalEffect(signal.SIGKILL)),
        ("terminate", SignalEffect(signal.SIGTERM)),
        ("exit code=3 keep_frame=true", ExitEffect(3)),
    ],
)
async def test_what_ends_an_agent_ends_the_replay(
    nursery: trio.Nursery, mock_clock: MockClock, rule: str, fate: SignalEffect | ExitEffect
) -> None:
    """If a fault ends the agent of a replay, the replay sends the earlier output and ends."""
    replayed = await started(nursery, "latency latency_ms=100", f"{rule} where=text:now")
    await replayed.out(b"before\nnow\n")
    assert await replayed.client_heard() == b""
    mock_clock.jump(0.2)
    assert await replayed.client_heard() == b"before\nnow\n$"
    assert replayed.is_over
    assert replayed.streams.fate == fate


async def test_a_pause_stops_the_output_until_it_is_resumed(
    nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    """After the fault `pause`, a replay sends again when a client's line triggers `resume`."""
    replayed = await started(nursery, "pause where=text:one", "resume where=text:wake")
    await replayed.out(b"one\ntwo\n")
    mock_clock.jump(60)
    assert await replayed.client_heard() == b"one\n"
    await replayed.client_out.send_all(b"wake\n")
    assert await replayed.client_heard() == b"two\n"
    assert replayed.heard == [b"wake\n"]


async def test_a_closed_output_ends_for_the_client(nursery: trio.Nursery) -> None:
    """If a fault closes a replay's output, the client reads its end, but can still send lines."""
    replayed = await started(nursery, "close where=text:bye keep_frame=true")
    await replayed.out(b"bye\nmore\n")
    assert await replayed.client_heard() == b"bye\n$"
    await replayed.client_out.send_all(b"a\n")
    await wait_all_tasks_blocked()
    assert replayed.heard == [b"a\n"]
    assert not replayed.is_over


async def test_a_line_of_the_client_can_be_dropped(nursery: trio.Nursery) -> None:
    """With the fault `drop` or `error-reply`, a line of the client does not reach the replay."""
    replayed = await started(
        nursery, "error-reply where=method:m code=7 message=no", "drop where=text:gone"
    )
    await replayed.client_out.send_all(b'{"jsonrpc":"2.0","id":5,"method":"m"}\ngone\n')
    assert await replayed.client_heard() == (
        b'{"jsonrpc":"2.0","id":5,"error":{"code":7,"message":"no"}}\n'
    )
    assert replayed.heard == []


async def test_a_flood_goes_to_stderr(nursery: trio.Nursery) -> None:
    """The fault `stderr-flood` adds lines to a replay's stderr, and the frame is still sent."""
    replayed = await started(nursery, "stderr-flood lines=3")
    await replayed.out(b"x\n")
    assert await replayed.client_heard() == b"x\n"
    assert (await replayed.stderr.receive_some()).count(b"\n") == 3


async def test_an_agent_that_sends_too_much_waits(
    nursery: trio.Nursery, mock_clock: MockClock
) -> None:
    """If a fault delays more than a megabyte of a replay's output, the replay stops sending."""
    replayed = await started(nursery, "latency latency_ms=1000 where=dir:to-client")
    line = b"x" * 600_000 + b"\n"
    await replayed.out(line)
    with trio.move_on_after(0.5) as patience:
        nursery.start_soon(_jump, mock_clock)
        await replayed.out(line)
    assert patience.cancelled_caught
    mock_clock.jump(1)
    assert await replayed.client_heard() == line * 2


async def _jump(mock_clock: MockClock) -> None:
    await wait_all_tasks_blocked()
    mock_clock.jump(0.6)
