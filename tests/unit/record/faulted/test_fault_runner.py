"""With faults, bytes of both directions are sent when they are due, in order."""

from __future__ import annotations

import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest
import trio
import trio.testing

from acp_proxy.faults.fault_engine import FaultEngine
from acp_proxy.faults.plan import chosen_plan
from acp_proxy.record.capture.agent_process import AgentProcess
from acp_proxy.record.capture.process_groups import OwnGroup
from acp_proxy.record.capture.pumps import Interceptor, Pump
from acp_proxy.record.capture.relay import Relay
from acp_proxy.record.faulted import fault_runner as fault_runner_module
from acp_proxy.record.faulted.fault_clock import keep_time
from acp_proxy.record.faulted.fault_runner import FaultRunner
from acp_proxy.record.faulted.faulted_pump import FaultedPump
from acp_proxy.recording.log_format import (
    DATA,
    EFFECT,
    END,
    FAULT,
    PART,
    SENT,
    STDERR,
    TO_AGENT,
    TO_CLIENT,
    UNDELIVERED,
    Log,
    unpack_fields,
)
from tests.unit.playback.drivers.test_replay_faults import Replayed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from trio.testing import MockClock

    from acp_proxy.faults.fault import Output
    from acp_proxy.protocol.jsonrpc import Direction

A, B, C = b'{"method":"a"}\n', b'{"method":"b"}\n', b'{"method":"c"}\n'


class FakeAgent(AgentProcess):
    """Stands for an agent, and notes the signals that it gets."""

    def __init__(self) -> None:
        super().__init__(pid=-1, group=OwnGroup(0), stdin=-1, stdout=-1, stderr=-1)
        self.sent: list[tuple[float, int]] = []

    def send_signal(self, signum: int) -> None:
        """Notes a signal to the agent."""
        self.sent.append((round(trio.current_time(), 3), signum))


class Notes(Log):
    """A log that keeps all records in order, without their times."""

    def __init__(self) -> None:
        self.kept: list[tuple[object, ...]] = []

    @property
    def has_gap(self) -> bool:
        """Returns False: this log has no gaps."""
        return False

    def append(self, stream: int, _: int, chunk: bytes) -> None:
        """Keeps a chunk for the test."""
        self.kept.append((stream, chunk))

    def chunks(self, stream: int = TO_CLIENT) -> bytes:
        """Returns all bytes read from a stream."""
        chunks = [what[1] for what in self.kept if what[0] == stream]
        return b"".join(chunk for chunk in chunks if isinstance(chunk, bytes))

    def event(self, kind: int, fields: dict[str, str | int | list[str]], stream: int = 0) -> bool:
        """Keeps an event for the test."""
        self.kept.append((kind, stream, fields))
        return True

    def append_all(self, records: list[tuple[int, int, int, bytes]]) -> None:
        """Keeps chunks, with the records about their faults, for the test."""
        for kind, stream, _, payload in records:
            if kind == DATA:
                self.kept.append((stream, payload))
            elif kind == PART:
                self.kept.append(("part", stream, payload))
            else:
                fields = {name: value for name, (value,) in unpack_fields(payload).items()}
                self.kept.append((kind, stream, fields))


class Connection:
    """Two peers with faults between them; the test has the peers' ends of the pipes."""

    def __init__(self, *rules: str) -> None:
        self.agent, self.log = FakeAgent(), Notes()
        self.runner = FaultRunner(*chosen_plan(rules, None, 1), clock=now_ns)
        self.runner.attach(self.agent, self.log, 0)
        self.ends: dict[int, int] = {}
        self.pumps = {}
        for stream in (TO_AGENT, TO_CLIENT, STDERR):
            self.ends[stream], sink = os.pipe()
            os.set_blocking(self.ends[stream], False)
            self.pumps[stream] = self.runner.pump(stream, -1, sink, self.log)

    def close(self) -> None:
        """Closes the pipes."""
        for stream, end in self.ends.items():
            os.close(end)
            os.close(self.pumps[stream].sink)

    def read(self, chunk: bytes, stream: int = TO_CLIENT) -> None:
        """Feeds a chunk to a pump, as the thread of the pump does."""
        self.runner.take(stream, now_ns(), chunk)
        self.runner.queues[stream].flush()

    def ends_input(self, stream: int = TO_CLIENT) -> None:
        """Ends the input of a pump."""
        self.runner.end(stream, now_ns())
        self.runner.queues[stream].flush()

    def arrived(self, stream: int = TO_CLIENT) -> bytes:
        """Returns the bytes that have arrived since the last call."""
        try:
            return os.read(self.ends[stream], 1 << 20)
        except BlockingIOError:
            return b""

    async def arrivals(self, seconds: float, step: float, stream: int = TO_CLIENT) -> Arrivals:
        """Returns the bytes that arrive within some seconds, each with its time."""
        result: Arrivals = []
        start = trio.current_time()
        while True:
            if data := self.arrived(stream):
                result.append((round(trio.current_time() - start, 3), data))
            if trio.current_time() - start >= seconds:
                return result
            await trio.sleep(step)
            await trio.testing.wait_all_tasks_blocked()


Arrivals = list[tuple[float, bytes]]


def now_ns() -> int:
    """Returns the time of the mock clock in nanoseconds."""
    return round(trio.current_time() * 1e9)


_connections: list[Connection] = []


def play(clock: MockClock, *rules: str) -> Connection:
    """Returns a connection that uses the mock clock."""
    assert clock.current_time() == 0
    _connections.append(Connection(*rules))
    return _connections[-1]


@pytest.fixture
def clock(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[MockClock]:
    """Returns a clock that jumps to the next deadline when all tasks wait."""

    async def run_here(work: Callable[..., object], *arguments: object, **_: object) -> object:
        return work(*arguments)

    monkeypatch.setattr(trio.to_thread, "run_sync", run_here)
    yield autojump_clock
    while _connections:
        _connections.pop().close()


async def running(connection: Connection, nursery: trio.Nursery) -> None:
    """Starts the task that sends delayed bytes when they are due."""
    nursery.start_soon(keep_time, connection.runner)
    await trio.testing.wait_all_tasks_blocked()


async def test_a_frame_that_no_rule_matches_goes_out_at_once(clock: MockClock) -> None:
    """`record --fault` forwards a frame that no rule matches immediately."""
    connection = play(clock, "latency where=method:z")
    connection.read(A + B + b"un")
    assert connection.arrived() == A + B
    connection.read(b"finished\n")
    assert connection.arrived() == b"unfinished\n"
    assert connection.log.kept == [(TO_CLIENT, A + B + b"un"), (TO_CLIENT, b"finished\n")]


async def test_latency_keeps_the_order(clock: MockClock) -> None:
    """If a fault of `record` delays a frame, later frames are delayed, too, in their order."""
    connection = play(clock, "latency latency_ms=2000 where=method:b")
    async with trio.open_nursery() as nursery:
        await running(connection, nursery)
        connection.read(A + B + C)
        assert await connection.arrivals(4, 0.5) == [(0, A), (2, B + C)]
        connection.read(A)
        assert await connection.arrivals(1, 0.5) == [(0, A)]
        nursery.cancel_scope.cancel()


async def test_the_log_says_how_late_a_line_goes_out(clock: MockClock) -> None:
    """If a fault of `record` delays a line, the recording contains the length of the delay."""
    connection = play(
        clock, "latency latency_ms=2000 where=method:a", "reorder after_frames=1 where=method:b"
    )
    connection.read(A + B)
    await trio.sleep(1)
    connection.read(C)
    notes = [
        (kind, what) for kind, _, what in (item for item in connection.log.kept if len(item) == 3)
    ]
    said = {"delivered": "full", "same": "1"}
    assert notes == [
        (FAULT, {"rule": "latency", "action": "latency", **said, "late": "2000000000"}),
        (FAULT, {"rule": "reorder", "action": "reorder", **said, "held": "1"}),
        (SENT, {"held": "1", "late": "2000000000"}),
    ]


async def test_slices_come_one_by_one(clock: MockClock) -> None:
    """If `record --fault slice` cuts a frame, each slice is written at its own time."""
    connection = play(clock, "slice bytes=6 delay_ms=100 where=method:a")
    async with trio.open_nursery() as nursery:
        await running(connection, nursery)
        connection.read(A)
        assert await connection.arrivals(0.5, 0.05) == [(0, A[:6]), (0.1, A[6:12]), (0.2, A[12:])]
        nursery.cancel_scope.cancel()


async def test_an_end_waits_for_what_is_late(clock: MockClock) -> None:
    """If `record --fault latency` delays the last bytes, they arrive before the stream's end."""
    connection = play(clock, "latency latency_ms=3000")
    queue = connection.runner.queues[TO_CLIENT]
    async with trio.open_nursery() as nursery:
        await running(connection, nursery)
        connection.read(A + b"last")
        connection.ends_input()
        assert queue.wait_ns() == 3 * 10**9
        assert await connection.arrivals(4, 0.5) == [(3, A + b"last")]
        assert queue.wait_ns() is None
        nursery.cancel_scope.cancel()


async def test_a_signal_follows_earlier_frames(clock: MockClock) -> None:
    """`record --fault kill` sends SIGKILL to the agent after the earlier delayed frames."""
    connection = play(clock, "latency latency_ms=2000 where=method:a", "kill where=method:b")
    async with trio.open_nursery() as nursery:
        await running(connection, nursery)
        connection.read(A + B)
        assert connection.agent.sent == []
        assert await connection.arrivals(3, 0.5) == [(2, A + B)]
        assert connection.agent.sent == [(2, signal.SIGKILL)]
        nursery.cancel_scope.cancel()


async def test_a_signal_with_nothing_before_it(clock: MockClock) -> None:
    """If no earlier bytes are delayed, `record --fault pause` stops the agent at once."""
    connection = play(clock, "pause where=method:b", "resume where=method:c")
    connection.read(A + B)
    assert connection.agent.sent == [(0, signal.SIGSTOP)]
    connection.read(C)
    assert connection.agent.sent == [(0, signal.SIGSTOP), (0, signal.SIGCONT)]
    assert connection.arrived() == A + B + C


async def test_terminating_with_grace(clock: MockClock) -> None:
    """If an agent ignores `record --fault terminate`, it is killed when the grace time is over."""
    connection = play(clock, "terminate grace_ms=1500 where=method:a")
    async with trio.open_nursery() as nursery:
        await running(connection, nursery)
        connection.read(A)
        await trio.sleep(3)
        assert connection.agent.sent == [(0, signal.SIGTERM), (1.5, signal.SIGKILL)]
        connection.read(A)
        connection.agent.exited.set()
        await trio.sleep(3)
        assert connection.agent.sent[2:] == [(3, signal.SIGTERM)]
        nursery.cancel_scope.cancel()


async def test_an_exit_follows_earlier_frames(clock: MockClock) -> None:
    """If `record --fault exit` ends the agent, bytes that were delayed are still delivered."""
    connection = play(clock, "latency latency_ms=1000 where=method:a", "exit code=3 where=method:b")
    async with trio.open_nursery() as nursery:
        await running(connection, nursery)
        connection.read(A + B + C)
        assert connection.agent.exit_status == 0
        assert await connection.arrivals(2, 0.5) == [(1, A)]
        assert connection.agent.exit_status == 3
        assert connection.runner.is_ending(TO_CLIENT)
        nursery.cancel_scope.cancel()


async def test_an_injected_answer_goes_the_other_way(clock: MockClock) -> None:
    """If a fault of `record` answers a request, the sender of the request gets the answer."""
    connection = play(clock, "error-reply code=-1 message=no where=method:q")
    async with trio.open_nursery() as nursery:
        await running(connection, nursery)
        connection.read(b'{"jsonrpc":"2.0","id":7,"method":"q"}\n' + A, TO_AGENT)
        assert connection.arrived(TO_AGENT) == A
        await trio.testing.wait_all_tasks_blocked()
        assert (
            connection.arrived() == b'{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}\n'
        )
        nursery.cancel_scope.cancel()


async def test_a_stall_leaves_the_pipe_open(clock: MockClock) -> None:
    """After `record --fault stall`, the stream stays open and is recorded, but not forwarded."""
    connection = play(clock, "stall where=method:b")
    connection.read(A + B)
    connection.read(C)
    assert connection.arrived() == A
    assert not connection.runner.is_ending(TO_CLIENT)
    said = {"rule": "stall", "action": "stall", "delivered": "none"}
    assert connection.log.kept == [
        (TO_CLIENT, A + B),
        (FAULT, TO_CLIENT, said),
        (EFFECT, TO_CLIENT, {"rule": "stall", "action": "stall"}),
        (TO_CLIENT, C),
        (FAULT, TO_CLIENT, {**said, "again": "1"}),
    ]


async def test_a_flood_of_stderr(clock: MockClock) -> None:
    """`record --fault stderr-flood` writes lines to stderr and delivers the matched frame."""
    connection = play(clock, "stderr-flood lines=3 where=method:a")
    async with trio.open_nursery() as nursery:
        await running(connection, nursery)
        connection.read(A)
        await trio.testing.wait_all_tasks_blocked()
        assert connection.arrived(STDERR).count(b"\n") == 3
        assert connection.arrived() == A
        nursery.cancel_scope.cancel()


async def test_a_reader_that_is_gone(clock: MockClock) -> None:
    """If the client leaves, bytes that a fault of `record` delayed are recorded as undelivered."""
    connection = play(clock, "latency latency_ms=1000 where=method:a")
    async with trio.open_nursery() as nursery:
        await running(connection, nursery)
        connection.read(A + B)
        os.close(connection.ends[TO_CLIENT])
        connection.ends[TO_CLIENT] = os.open(os.devnull, os.O_RDONLY)
        await trio.sleep(2)
        lost = {"bytes": len(A + B)}
        assert connection.log.kept[-1] == (UNDELIVERED, TO_CLIENT, lost)
        assert isinstance(connection.runner.queues[TO_CLIENT].error, BrokenPipeError)
        nursery.cancel_scope.cancel()


async def test_a_bare_direction_is_followed(clock: MockClock) -> None:
    """A fault for `to-client` alone finds the answer to `session/new` by the client's request."""
    connection = play(clock, "drop where='method:session/new kind:response dir:to-client'")
    assert connection.runner.streams == (TO_CLIENT,)
    assert not isinstance(connection.pumps[TO_AGENT], FaultedPump)
    listener = connection.pumps[TO_AGENT]._log
    listener.append(TO_AGENT, 1, b'{"jsonrpc":"2.0","id":1,"method":"session/new"}\n{"jsonrpc":')
    listener.append(TO_AGENT, 2, b'"2.0","id":2,"method":"other"}\n')
    connection.read(b'{"jsonrpc":"2.0","id":2,"result":{}}\n{"jsonrpc":"2.0","id":1,"result":{}}\n')
    assert connection.arrived() == b'{"jsonrpc":"2.0","id":2,"result":{}}\n'


async def test_giving_up_lets_everything_pass(clock: MockClock) -> None:
    """If a recorder gives up its faults, bytes that they hold back are sent at once, in order."""
    connection = play(clock, "latency latency_ms=9000", "reorder where=method:b")
    connection.read(A + B)
    assert connection.arrived() == b""
    connection.runner.give_up()
    connection.read(C)
    connection.runner.queues[TO_CLIENT].wait_until_empty()
    assert connection.arrived() == A + B + C


async def test_the_summary(clock: MockClock) -> None:
    """At its end, `record --fault` prints how often each rule fired, and the seed."""
    connection = play(
        clock, "drop where=method:a", "noop name=never where=method:z", "noop where=method:b"
    )
    connection.read(A + B + A)
    assert list(connection.runner.summary()) == [
        "faults: drop 2 times, noop once",
        "warning: the fault never never fired (--fault 'noop name=never where=method:z')",
        "reproduce with --seed 1",
    ]


async def test_a_replay_has_the_schedule_of_a_live_agent(clock: MockClock) -> None:
    """With equal fault plan and seed, `replay` delays frames exactly as `record` does."""
    rules = [
        "latency latency_ms=60 jitter_ms=50",
        "duplicate probability=0.5",
        "slice bytes=9 delay_ms=5 probability=0.5",
        "reorder probability=0.3",
    ]
    lines = [b'{"method":"%d"}\n' % number for number in range(8)]
    connection, replayed = play(clock, *rules), Replayed(*rules)
    pieces = set[bytes]()
    async with trio.open_nursery() as nursery:
        await running(connection, nursery)
        nursery.start_soon(replayed.run)
        for moment in range(400):
            await trio.testing.wait_all_tasks_blocked()
            if moment % 50 == 0:
                connection.read(lines[moment // 50])
                await replayed.out(lines[moment // 50])
            live = connection.arrived()
            assert await replayed.client_heard() == live, moment
            pieces.add(live)
            await trio.sleep(0.001)
        nursery.cancel_scope.cancel()
    assert len(pieces) > len(lines)
    assert connection.runner._engine.fired == replayed.engine.fired
    assert all(connection.runner._engine.fired.values())


async def test_only_a_direction_with_rules_has_a_faulted_pump(clock: MockClock) -> None:
    """With a rule for `to-client` alone, a recorder uses a `FaultedPump` only in this direction.

    While the pump delays bytes, it does not count as waiting in a read.
    """
    connection = play(clock, "latency where=dir:to-client")
    relay = Relay(
        connection.log,
        connection.agent,
        client_in=-1,
        client_out=-1,
        signals=set(),
        parent=0,
        interceptor=connection.runner,
    )
    assert isinstance(relay.to_client, FaultedPump)
    assert not isinstance(relay.to_agent, FaultedPump)
    assert relay.to_client.in_read
    connection.runner.take(TO_CLIENT, now_ns(), A)
    assert not relay.to_client.in_read


def test_a_relay_that_is_not_adopted_has_bare_pumps() -> None:
    """If a recorder cannot start its faults, it forwards bytes unchanged."""
    agent, (said, agent_out), (heard, client_out) = FakeAgent(), os.pipe(), os.pipe()
    agent.stdout = said
    runner = FaultRunner(*chosen_plan(["drop where=dir:to-client"], None, 1))
    runner.attach(agent, Log(), 0)
    relay = Relay(
        Log(),
        agent,
        client_in=-1,
        client_out=client_out,
        signals=set(),
        parent=0,
        interceptor=runner,
    )
    relay.release()
    os.write(agent_out, A + b"unfinished")
    os.close(agent_out)
    assert relay.to_client.ended.wait(60)
    assert os.read(heard, 1 << 16) == A + b"unfinished"
    assert os.read(heard, 1) == b""
    os.close(heard)


# Touched and bare directions


def ask(number: int, method: str = "ask") -> bytes:
    """Returns a request as a line."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"%b"}\n' % (number, method.encode())


def answer(number: int) -> bytes:
    """Returns the answer to a request as a line."""
    return b'{"jsonrpc":"2.0","id":%d,"result":{}}\n' % number


async def test_a_rule_that_can_never_fire_leaves_bare_pumps(clock: MockClock) -> None:
    """If a fault can never fire, `record` warns, and forwards all bytes unchanged."""
    connection = play(clock, "noop probability=0", "drop where='dir:to-client dir:to-agent'")
    assert [type(pump) for pump in connection.pumps.values()] == [Pump] * 3
    assert [type(pump._log) for pump in connection.pumps.values()] == [Notes] * 3
    assert (connection.runner.streams, connection.runner.queues) == ((), {})
    assert len([line for line in connection.runner.summary() if "never fired" in line]) == 2


@pytest.mark.parametrize(
    "said", [[B], [b'{"method":"\\u0062"}\n'], [B[:11], B[11:]], [A + B[:12], B[12:-1], b"\n"]]
)
async def test_a_rule_fires_however_its_frame_is_cut(clock: MockClock, said: list[bytes]) -> None:
    """A rule of `record --fault` matches a line even if it arrives in several chunks."""
    connection = play(clock, "drop where=method:b")
    connection.read(A)
    connection.read(C + C)
    assert connection.arrived() == A + C + C
    for chunk in said:
        connection.read(chunk)
    connection.read(A)
    assert b"".join(said).startswith(connection.arrived().removesuffix(A))
    assert next(iter(connection.runner.summary())) == "faults: drop once"
    assert connection.log.chunks() == A + C + C + b"".join(said) + A


@pytest.mark.parametrize("where", ["method:ask kind:response", "method:ask dir:to-client"])
@pytest.mark.parametrize("parts", [1, 2])
async def test_requests_of_the_other_direction_count(
    clock: MockClock, where: str, parts: int
) -> None:
    """A rule of `record --fault` matches a response by the method of its request."""
    connection = play(clock, f"drop where='{where}'")

    def asks(line: bytes) -> None:
        middle = len(line) // parts
        for chunk in (line[:middle], line[middle:]):
            if not chunk:
                pass
            elif TO_AGENT in connection.runner.streams:
                connection.read(chunk, TO_AGENT)
            else:
                connection.pumps[TO_AGENT]._log.append(TO_AGENT, now_ns(), chunk)

    asks(ask(1, "other"))
    connection.read(answer(1) + C)
    assert connection.arrived() == answer(1) + C
    asks(ask(2))
    connection.read(answer(2) + C)
    assert connection.arrived() == C


async def test_only_a_few_chunks_of_a_bare_pump_are_kept(
    clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a direction without fault rules, a recorder keeps only the latest chunks in memory."""
    monkeypatch.setattr(fault_runner_module, "_MOST_PASSED", 4)
    connection = play(clock, "drop where='dir:to-client method:b'")
    for _ in range(20):
        connection.pumps[TO_AGENT]._log.append(TO_AGENT, now_ns(), A)
        assert len(connection.runner._passed) <= 4


@pytest.mark.parametrize("place", ["observe", "receive"])
async def test_a_mistake_of_ours_ends_the_faults(
    clock: MockClock,
    place: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """After a bug in the code of faults, a recorder goes on without faults."""

    def mistake(*_: object) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(FaultEngine, place, mistake)
    connection = play(clock, "drop where='dir:to-client method:b'")
    connection.pumps[TO_AGENT]._log.append(TO_AGENT, now_ns(), A)
    connection.read(A)
    connection.read(C)
    connection.read(B)
    connection.read(C)
    assert connection.arrived() == A + C + B + C
    assert "internal error, faults end here: RuntimeError: ours" in capfd.readouterr().err


def test_a_pump_applies_the_rules_to_what_it_reads() -> None:
    """If `record --fault drop` drops a line, the line is recorded as it was received."""
    log, (said, agent_out), (heard, client_out) = Notes(), os.pipe(), os.pipe()
    runner = FaultRunner(*chosen_plan(["drop where='dir:to-client method:b'"], None, 1))
    runner.attach(FakeAgent(), log, 0)
    pump = runner.pump(TO_CLIENT, said, client_out, log)
    thread = threading.Thread(target=pump.run)
    thread.start()
    for line, arrives in ((A, A), (C, C), (B + A, A), (b"unfinished", b"")):
        os.write(agent_out, line)
        if arrives:
            assert os.read(heard, 1 << 16) == arrives
    os.close(agent_out)
    thread.join(60)
    assert pump.source_ended
    assert os.read(heard, 1 << 16) == b"unfinished"
    assert os.read(heard, 1) == b""
    os.close(heard)
    assert log.chunks() == A + C + B + A + b"unfinished"
    assert log.kept[-1] == (END, TO_CLIENT, {"reason": "end of file"})


@pytest.mark.parametrize("lasts", [True, False])
def test_a_mistake_at_the_end_blocks_no_peer(
    lasts: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """If a bug in faults shows at the end of a stream, the receiver still sees the end."""
    end, made = FaultEngine.end, 0

    def mistake(engine: FaultEngine, direction: Direction, at: int) -> Iterator[Output]:
        nonlocal made
        made += 1
        if lasts or made == 1:
            raise RuntimeError("ours")
        return end(engine, direction, at)

    monkeypatch.setattr(FaultEngine, "end", mistake)
    with Piped("reorder where=method:b") as piped:
        os.write(piped.agent_out, A + B)
        assert os.read(piped.heard, 1 << 16) == A
        piped.ends()
        assert os.read(piped.heard, 1 << 16) == (b"" if lasts else B)
    assert piped.log.kept[-1] == (END, TO_CLIENT, {"reason": "end of file"})
    complaints = capfd.readouterr().err.splitlines()
    assert complaints[0] == "acp-proxy: internal error, faults end here: RuntimeError: ours"
    assert len(complaints) == (3 if lasts else 1)
    assert not any("Traceback" in line for line in complaints)


def test_a_mistake_where_faults_are_carried_out_closes_the_stream(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a bug in faults loses bytes, the recorder closes the stream for its receiver."""

    def mistake(*_: object) -> None:
        raise RuntimeError("ours")

    with Piped("reorder where=method:b") as piped:
        monkeypatch.setattr(piped.runner._schedule, "add", mistake)
        os.write(piped.agent_out, B)
        assert os.read(piped.heard, 1) == b""
        assert piped.pump.ended.wait(60)
        with pytest.raises(BrokenPipeError):
            os.write(piped.agent_out, A)
    reason = "internal error: RuntimeError: ours"
    assert piped.log.kept[-1] == (END, TO_CLIENT, {"reason": reason})
    assert capfd.readouterr().err == f"acp-proxy: to-client ends here, {reason}\n"


def test_a_mistake_while_an_end_is_logged_blocks_no_peer(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a bug keeps the end of a stream from being logged, both peers still see the end."""

    def mistake(*_: object) -> None:
        raise RuntimeError("ours")

    with Piped() as piped:
        monkeypatch.setattr(piped.log, "event", mistake)
        os.write(piped.agent_out, A)
        piped.ends()
        assert os.read(piped.heard, 1 << 16) == A
        assert os.read(piped.heard, 1) == b""
    assert "cannot record to-client any longer: RuntimeError" in capfd.readouterr().err


class Piped:
    """A pump between two pipes, with faults if there are rules."""

    def __init__(self, *rules: str) -> None:
        self.log = Notes()
        (source, self.agent_out), (self.heard, sink) = os.pipe(), os.pipe()
        interceptor = Interceptor()
        if rules:
            interceptor = self.runner = FaultRunner(*chosen_plan(rules, None, 1))
            self.runner.attach(FakeAgent(), self.log, 0)
        self.pump = interceptor.pump(TO_CLIENT, source, sink, self.log)
        self._thread = threading.Thread(target=self.pump.run, daemon=True)

    def ends(self) -> None:
        """Ends the agent's output."""
        os.close(self.agent_out)
        self.agent_out = -1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(60)
        assert self.pump.ended.is_set
        os.close(self.heard)
        if self.agent_out >= 0:
            self.ends()
