# ruff: noqa: ARG001  (a test that names the clock runs on it)
"""Tests the driver of a verification, which reads lines and writes bytes, on a mock clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
from trio.testing import MockClock, lockstep_stream_pair, memory_stream_pair

from acp_proxy.playback.drivers import verifier
from acp_proxy.playback.drivers.recorder_process import environment
from acp_proxy.playback.drivers.verifier import Verifier
from acp_proxy.playback.shared.playback_options import Pacing
from acp_proxy.playback.verify.recorded_client import RecordedClient
from acp_proxy.playback.verify.verification import Verification
from acp_proxy.playback.verify.verify_requests import VerifyOptions
from tests.support.playbook import Record, RecordedTranscript, wire

if TYPE_CHECKING:
    from collections.abc import Callable

TALK = """
    1-4 session
    5 <- session/update {"sessionId": "s", "update": {"text": "é 你 😀"}}
    6 -> #2 session/prompt {"sessionId": "s", "prompt": []}
    7 <- #2 result {"stopReason": "end_turn"}
"""
A_DAY_S = 86_400
MUCH_TO_SAY = "\n".join(f"-> #{n} _x/y {{}}" for n in range(200)) + "\n<- #0 result 1"


@pytest.fixture
def clock() -> MockClock:
    """A clock that jumps to the next deadline."""
    return MockClock(autojump_threshold=0)


class Agent:
    """The agent's ends of the streams of a verification that runs in the background."""

    def __init__(
        self,
        recorded: RecordedTranscript,
        nursery: trio.Nursery,
        pair: Any = memory_stream_pair,
        show: Callable[[str], None] | None = None,
        **options: Any,
    ) -> None:
        self._show = show
        self.recorded = recorded
        self.engine = Verification(
            RecordedClient(recorded.script(as_sent=True)), VerifyOptions(**options)
        )
        self.ended = trio.Event()
        self.into, source = pair()
        sink, self._out = pair()
        self._rest = b""
        nursery.start_soon(self._run, source, sink)

    async def _run(self, source: trio.abc.ReceiveStream, sink: trio.abc.SendStream) -> None:
        await Verifier(self.engine, source, sink, self._show).run()
        self.ended.set()

    async def send(self, *numbers: int) -> None:
        """Sends recorded frames to `verify`."""
        await self.into.send_all(b"".join(self.recorded.raw[number] for number in numbers))

    async def expect(self, *numbers: int) -> float:
        """Asserts that exactly the given frames come; returns the time of the last one."""
        wanted = b"".join(self.recorded.raw[number] for number in numbers)
        heard = b""
        while len(heard) < len(wanted):
            chunk = await self._out.receive_some(len(wanted) - len(heard))
            assert chunk, self.divergence_kinds
            heard += chunk
        assert heard == wanted
        return trio.current_time()

    async def expect_lines(self, count: int) -> None:
        """Waits for a number of lines with any content."""
        while count > 0:
            chunk = await self._out.receive_some(1 << 16)
            assert chunk, self.divergence_kinds
            count -= chunk.count(b"\n")

    async def expect_end(self) -> float:
        """Asserts that the input ends, and returns the time of its end."""
        assert await self._out.receive_some(1) == b""
        return trio.current_time()

    @property
    def divergence_kinds(self) -> list[str]:
        """Returns the kinds of the divergences that `verify` has noted."""
        return [divergence.kind.value for divergence in self.engine.state.divergences.found]


async def test_what_comes_byte_by_byte_is_a_line(record: Record, clock: MockClock) -> None:
    """`verify` reads an agent's line even if it arrives byte by byte."""
    async with trio.open_nursery() as nursery:
        agent = Agent(record(TALK), nursery)
        await agent.expect(1)
        for byte in agent.recorded.raw[2]:
            await agent.into.send_all(bytes([byte]))
        await agent.expect(3)
        await agent.send(4, 5)
        await agent.expect(6)
        await agent.into.send_all(agent.recorded.raw[7].removesuffix(b"\n"))
        await agent.into.aclose()
        await agent.ended.wait()
    assert agent.divergence_kinds == []
    assert agent.engine.is_played_out


async def test_the_agents_input_is_closed_after_the_last_frame(
    record: Record, clock: MockClock
) -> None:
    """After `verify` has sent all recorded frames, it closes the agent's input."""
    async with trio.open_nursery() as nursery:
        agent = Agent(record(TALK), nursery)
        await agent.expect(1)
        await agent.send(2)
        await agent.expect(3)
        await agent.send(4, 5)
        await agent.expect(6)
        await agent.send(7)
        await agent.expect_end()
        await agent.send(7)
        await agent.into.aclose()
        await agent.ended.wait()
    assert agent.divergence_kinds == ["answered-twice"]


async def test_five_seconds_of_silence_let_the_next_frame_go(
    record: Record, clock: MockClock
) -> None:
    """If an expected message is missing, `verify` sends its next frame after 5 silent seconds."""
    async with trio.open_nursery() as nursery:
        agent = Agent(record(TALK), nursery)
        await agent.expect(1)
        await agent.send(2)
        await agent.expect(3)
        await trio.sleep(29)
        await agent.send(4)
        silent_since = trio.current_time()
        assert await agent.expect(6) == pytest.approx(silent_since + 5, abs=1e-8)
        await agent.into.aclose()


async def test_silence_is_a_stall(record: Record, clock: MockClock) -> None:
    """If an agent is silent for the stall timeout, `verify` reports a stall."""
    async with trio.open_nursery() as nursery:
        agent = Agent(record(TALK), nursery, stall_ns=3 * 10**9)
        began = await agent.expect(1)
        await agent.ended.wait()
        assert trio.current_time() == pytest.approx(began + 3, abs=1e-8)
    assert agent.divergence_kinds == ["stall", "unplayed"]


async def test_bytes_are_signs_of_life(record: Record, clock: MockClock) -> None:
    """If an agent keeps sending bytes, even without a newline, `verify` does not call it silent."""
    async with trio.open_nursery() as nursery:
        agent = Agent(record(TALK), nursery, stall_ns=3 * 10**9)
        began = await agent.expect(1)
        for _ in range(10):
            await agent.into.send_all(b"x" * 1000)
            await trio.sleep(2)
        assert not agent.ended.is_set()
        await agent.ended.wait()
        assert trio.current_time() == pytest.approx(began + 21, abs=1e-8)
    assert agent.divergence_kinds == ["stall", "unplayed"]


async def test_an_agent_that_drips_is_ended(record: Record, clock: MockClock) -> None:
    """If an agent only sends endless notifications, `verify` ends it at the stall timeout."""
    async with trio.open_nursery() as nursery:
        agent = Agent(record(TALK), nursery, timeout_ns=600 * 10**9)
        began = await agent.expect(1)
        while not agent.ended.is_set():
            await agent.into.send_all(wire("_x/drip {}"))
            await trio.sleep(0.3)
        assert trio.current_time() == pytest.approx(began + 600, abs=0.4)
    assert agent.divergence_kinds == ["stall", "unplayed"]


async def test_what_is_awaited_is_displayed(record: Record, clock: MockClock) -> None:
    """After three silent seconds, `verify` shows which message it waits for."""
    shown: list[str] = []
    async with trio.open_nursery() as nursery:
        agent = Agent(record(TALK), nursery, show=shown.append)
        await agent.expect(1)
        await trio.sleep(2.9)
        assert shown == []
        await agent.send(2)
        await agent.expect(3)
        await trio.sleep(5.5)
        what = f"the answer to session/new #{agent.recorded.seq(3)}"
        assert shown == [f"waiting {seconds} s for {what}" for seconds in (3, 4, 5)]
        await agent.send(4)
        await trio.sleep(3.5)
        what = f"what the agent had sent before session/prompt #{agent.recorded.seq(6)}"
        assert shown[3:] == ["", f"waiting 3 s for {what}"]
        await agent.into.aclose()
        await agent.ended.wait()
    assert shown[5:] == [""]


async def test_an_agent_that_does_not_read_does_not_stop_us(
    record: Record, clock: MockClock
) -> None:
    """If an agent never reads its input, `verify` reads its output, and reports a stall."""
    async with trio.open_nursery() as nursery:
        agent = Agent(record(MUCH_TO_SAY), nursery, lockstep_stream_pair)
        await agent.ended.wait()
    assert agent.divergence_kinds == ["stall"]
    assert agent.engine.state.divergences.found[0].summary.startswith("the agent has not read")


async def test_an_agent_that_writes_before_it_reads_is_not_deaf(
    record: Record, clock: MockClock
) -> None:
    """If an agent writes 900 lines before it reads, `verify` reads them and reports no stall."""
    with trio.fail_after(A_DAY_S):
        async with trio.open_nursery() as nursery:
            agent = Agent(record(TALK), nursery, lockstep_stream_pair)
            await agent.expect(1)
            await agent.send(2)
            await agent.expect(3)
            await agent.send(4, 5)
            await agent.expect(6)
            for number in range(900):
                await agent.into.send_all(wire(f'#"q{number}" _x/y {{}}'))
            await agent.expect_lines(900)
            await agent.send(7)
            await agent.into.aclose()
            await agent.ended.wait()
    assert set(agent.divergence_kinds) == {"unmatched"}
    assert agent.engine.is_played_out


async def test_time_without_output_is_not_a_write_stall(record: Record, clock: MockClock) -> None:
    """While `verify` holds a frame until its recorded time, it does not call the agent stalled."""
    conversation = TALK.replace("    6 ->", "    .. 10s\n    6 ->")
    with trio.fail_after(A_DAY_S):
        async with trio.open_nursery() as nursery:
            pacing = Pacing(1.0)
            agent = Agent(
                record(conversation),
                nursery,
                lockstep_stream_pair,
                stall_ns=3 * 10**9,
                pacing=pacing,
            )
            await agent.expect(1)
            await agent.send(2)
            await agent.expect(3)
            await agent.send(4, 5)
            await trio.sleep(12)
            await agent.expect(6)
            await agent.send(7)
            await agent.into.aclose()
            await agent.ended.wait()
    assert agent.divergence_kinds == []


async def test_an_agent_that_talks_is_not_deaf(record: Record, clock: MockClock) -> None:
    """If an agent writes but does not read, `verify` reports a stall after the writing ends."""
    with trio.fail_after(A_DAY_S):
        async with trio.open_nursery() as nursery:
            agent = Agent(record(MUCH_TO_SAY), nursery, lockstep_stream_pair)
            for _ in range(5):
                await trio.sleep(29)
                await agent.into.send_all(wire("_x/busy {}"))
            assert not agent.ended.is_set()
            talked = trio.current_time()
            await agent.ended.wait()
            assert trio.current_time() == pytest.approx(talked + 30, abs=1e-8)
    assert agent.divergence_kinds.count("stall") == 1


async def test_without_a_limit_nobody_is_deaf(record: Record, clock: MockClock) -> None:
    """Without a stall timeout, `verify` waits for an agent that does not read."""
    with trio.fail_after(A_DAY_S):
        async with trio.open_nursery() as nursery:
            agent = Agent(record(MUCH_TO_SAY), nursery, lockstep_stream_pair, stall_ns=None)
            await trio.sleep(3600)
            for number in range(200):
                await agent.into.send_all(wire(f"#{number} result 1"))
            await agent.expect_lines(200)
            await agent.into.aclose()
            await agent.ended.wait()
    assert "stall" not in agent.divergence_kinds


async def test_a_line_without_an_end_is_cut(
    record: Record, clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`verify` cuts an endless line of the agent into lines of limited size."""
    monkeypatch.setattr(verifier, "LINE_WITHOUT_END", 1000)
    async with trio.open_nursery() as nursery:
        agent = Agent(record(TALK), nursery)
        await agent.expect(1)
        for _ in range(30):
            await agent.into.send_all(b"x" * 100)
        await agent.into.aclose()
        await agent.ended.wait()
    assert agent.divergence_kinds.count("malformed-input") == 3


def test_a_recorder_of_ours_records_and_does_nothing_else() -> None:
    """The recorder that `verify` starts gets no environment variables for options of `record`."""
    ours = {"HOME": "/h", "ACP_PROXY_RECORDINGS": "/r", "ACP_PROXY_PARENT": "a/b"}
    others = {"ACP_PROXY_OFF": "1", "ACP_PROXY_FAULT": "garbage", "ACP_PROXY_MAX_SIZE": "1"}
    assert environment({**ours, **others}) == ours
