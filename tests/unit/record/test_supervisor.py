"""A recorder ends an agent in time, but only after it has waited long enough."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest
import trio
import trio.testing

from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.record import supervisor
from acp_proxy.record.capture.agent_process import AgentProcess
from acp_proxy.record.capture.process_groups import OwnGroup
from acp_proxy.record.capture.relay import Relay
from acp_proxy.record.supervisor import (
    LINGER,
    STALL,
    end_lingering,
    end_overstay,
    enforce_stop,
    note_stalls,
    until,
)
from acp_proxy.recording.log_format import NOTE, TO_AGENT, TO_CLIENT, Log

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio.testing import MockClock

    from acp_proxy.record.indexing import Indexing

GRACE = 4.0
LOOKS = 0.25
"""Seconds between two checks of the supervisor, and so its precision."""

WHOLE = 3600.0
"""The length of a simulated run, in seconds of the mock clock."""

Sent = tuple[float, int]
"""The time of a signal to the group, in seconds of the mock clock, and the signal."""


class Ghost(AgentProcess):
    """Stands for an agent, and keeps the signals that it gets."""

    def __init__(self, clock: MockClock) -> None:
        super().__init__(pid=-1, group=OwnGroup(0), stdin=-1, stdout=-1, stderr=-1)
        self.sent: list[Sent] = []
        self._clock = clock

    def kill_holders(self) -> None:
        """Notes that processes which keep the agent's outputs open were killed."""
        self.send_signal(signal.SIGKILL)

    def send_signal(self, signum: int) -> None:
        """Keeps a signal, except SIGCONT, which only continues the process."""
        if signum != signal.SIGCONT:
            self.sent.append((self._clock.current_time(), signum))


class Answers:
    """Stands for the indexer: says whether requests are open, by the time."""

    def __init__(self, answer: Callable[[float], bool | None]) -> None:
        self.answer = answer
        self.asked: list[Direction] = []

    def is_open_request(self, direction: Direction) -> bool | None:
        """Returns the prepared answer."""
        self.asked.append(direction)
        return self.answer(trio.current_time())


class Scene:
    """Stands for a relay without threads; the test does what they would do."""

    def __init__(self, clock: MockClock) -> None:
        self.agent = Ghost(clock)
        self.relay = Relay(
            Log(),
            self.agent,
            client_in=-1,
            client_out=-1,
            signals=set(),
            parent=os.getppid(),
        )

        for pump in self.relay.pumps:
            pump.last_ns = 0

    def client_closes(self) -> None:
        """The client closes its end."""
        pump = self.relay.to_agent
        pump.last_ns = now_ns()
        pump.source_ended = True
        pump.ended.set()

    def client_leaves(self) -> None:
        """The client closes its end and exits, so that our parent changes."""
        self.client_closes()
        self.relay.parent = -1

    def nobody_reads(self) -> None:
        """The client closes the pipe that it reads."""
        reading, writing = os.pipe()
        os.close(reading)
        self.relay.to_client.sink = writing

    def agent_says(self) -> None:
        """A byte is read from the agent and forwarded at once."""
        self.relay.to_client.last_ns = now_ns()

    def agent_exits(self) -> None:
        """The agent's process ends."""
        self.agent.exited.set()

    def outputs_end(self) -> None:
        """Both outputs of the agent end, and so the conversation ends."""
        self.relay.to_client.ended.set()
        self.relay.stderr.ended.set()
        self.relay.drained.set()

    @property
    def abandoned(self) -> bool:
        """Whether the supervisor has given up waiting for the agent's outputs."""
        return self.relay.to_client.ended.is_set and self.relay.stderr.ended.is_set


Step = tuple[float, "Callable[[Scene], None]"]
"""The time of an event, and the event."""


def now_ns() -> int:
    """Returns the time of the mock clock in nanoseconds."""
    return round(trio.current_time() * 1e9)


@pytest.fixture
def clock(autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch) -> MockClock:
    """Replaces all clocks by a mock clock that jumps to the next deadline when all tasks wait."""
    time = SimpleNamespace(monotonic_ns=lambda: round(autojump_clock.current_time() * 1e9))
    monkeypatch.setattr(supervisor, "time", time)

    async def run_here(work: Callable[..., object], *arguments: object, **_: object) -> object:
        return work(*arguments)

    monkeypatch.setattr(trio.to_thread, "run_sync", run_here)
    return autojump_clock


def watch(nursery: trio.Nursery, scene: Scene, answers: Answers | None = None) -> None:
    """Starts the tasks that the supervisor runs beside the indexer."""
    nursery.start_soon(enforce_stop, scene.relay, GRACE)
    nursery.start_soon(end_overstay, scene.relay, cast("Indexing | None", answers), GRACE)
    nursery.start_soon(end_lingering, scene.relay)


async def play(clock: MockClock, *steps: Step, answers: Answers | None = None) -> Scene:
    """Plays steps at their times; returns when the outputs have ended, at most an hour later."""
    scene = Scene(clock)
    async with trio.open_nursery() as nursery:
        watch(nursery, scene, answers)
        for at, step in steps:
            await trio.sleep_until(at)
            step(scene)
        with trio.move_on_at(WHOLE):
            await until(scene.relay.drained)
        nursery.cancel_scope.cancel()
    return scene


def told_to_stop(scene: Scene) -> None:
    """The recorder gets a signal to stop, and forwards the signal."""
    scene.relay.stopping.set()


def exits(scene: Scene) -> None:
    """The agent's process ends, and so do its outputs."""
    scene.agent_exits()
    scene.outputs_end()


def blocks(scene: Scene) -> None:
    """The client stops reading, so the pump waits in its write."""
    scene.agent_says()
    scene.relay.to_client.in_read = False


def unblocks(scene: Scene) -> None:
    """The client reads again, so the pump goes on."""
    scene.relay.to_client.in_read = True


nothing_open = Answers(lambda _: False)


async def test_until_waits_for_a_latch(clock: MockClock) -> None:
    """`until` returns at once for a latch that is set, or else as soon as the latch is set."""
    scene = Scene(clock)
    scene.relay.stopping.set()
    await until(scene.relay.stopping)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(until, scene.relay.drained)
        await trio.sleep(1)
        scene.relay.drained.set()
    assert clock.current_time() == 1


async def test_an_agent_that_ends_in_time_gets_no_other_signal(clock: MockClock) -> None:
    """If an agent ends soon after a stop signal, `record` sends it no second signal."""
    scene = await play(clock, (10, told_to_stop), (13.9, exits))
    assert scene.agent.sent == []


async def test_an_agent_that_ignores_the_signal_is_killed(clock: MockClock) -> None:
    """If an agent runs on after a stop signal, a recorder kills the agent after the grace time."""
    scene = await play(clock, (10, told_to_stop))
    assert scene.agent.sent == [(14, signal.SIGKILL)]


async def test_outputs_held_after_the_kill_are_abandoned(clock: MockClock) -> None:
    """If some process keeps the outputs of a killed agent open, the recorder stops waiting."""
    scene = Scene(clock)
    async with trio.open_nursery() as nursery:
        watch(nursery, scene)
        scene.relay.stopping.set()
        events = []
        for at in (4.9, 5.1):
            await trio.sleep_until(at)
            events.append(scene.abandoned)
        nursery.cancel_scope.cancel()
    assert events == [False, True]


async def test_the_kill_does_not_cut_a_slow_reader_off(clock: MockClock) -> None:
    """If an agent was killed, a recorder gives a slow client another grace time to read."""
    events = []

    def look(scene: Scene) -> None:
        events.append(scene.relay.to_client.ended.is_set)

    scene = await play(clock, (1, blocks), (2, told_to_stop), (10.9, look), (11.1, look))
    assert scene.agent.sent == [(6, signal.SIGKILL)]
    assert events == [False, True]


async def test_an_agent_that_overstays_is_ended(clock: MockClock) -> None:
    """If a client has left and no request is open, a recorder sends the agent SIGTERM."""
    scene = await play(clock, (10, Scene.client_leaves), answers=nothing_open)
    assert scene.agent.sent == [(14, signal.SIGTERM), (18, signal.SIGKILL)]
    assert scene.relay.end_reason == "the agent overstayed its client"


async def test_an_agent_that_ends_after_its_client_is_left_alone(clock: MockClock) -> None:
    """If an agent ends soon after its client has left, a recorder sends the agent no signal."""
    scene = await play(clock, (10, Scene.client_leaves), (13.9, exits), answers=nothing_open)
    assert scene.agent.sent == []
    assert scene.relay.end_reason == ""


async def test_an_agent_that_obeys_sigterm_is_not_killed(clock: MockClock) -> None:
    """If an agent ends on SIGTERM, a recorder sends no SIGKILL."""
    scene = await play(clock, (10, Scene.client_leaves), (15, exits), answers=nothing_open)
    assert scene.agent.sent == [(14, signal.SIGTERM)]


async def test_the_grace_begins_anew_with_every_byte(clock: MockClock) -> None:
    """If a client has left, a recorder does not end an agent that writes from time to time."""
    says = [(at, Scene.agent_says) for at in (13.0, 16.0, 19.0)]
    scene = await play(clock, (10, Scene.client_leaves), *says, answers=nothing_open)
    assert scene.agent.sent[:1] == [(23, signal.SIGTERM)]


async def test_an_open_request_keeps_the_agent(clock: MockClock) -> None:
    """If a client has left and a request is open, a recorder does not end the agent."""
    answers = Answers(lambda now: now < 999.875)
    scene = await play(
        clock, (10, Scene.client_leaves), (999.875, Scene.agent_says), answers=answers
    )
    assert scene.agent.sent[:1] == [(1003.875, signal.SIGTERM)]
    assert set(answers.asked) == {Direction.TO_AGENT}


async def test_not_knowing_keeps_the_agent(clock: MockClock) -> None:
    """If a client has left, but open requests are unknown, a recorder does not end the agent."""
    scene = await play(clock, (10, Scene.client_leaves), answers=Answers(lambda _: None))
    assert scene.agent.sent == []


async def test_knowing_again_ends_the_agent(clock: MockClock) -> None:
    """If a client has left, a recorder ends the agent when it learns that no request is open."""
    answers = Answers(lambda now: None if now < 100 else False)
    scene = await play(clock, (10, Scene.client_leaves), answers=answers)
    assert scene.agent.sent[0][0] == pytest.approx(100, abs=LOOKS)


async def test_without_an_index_no_agent_overstays(clock: MockClock) -> None:
    """If no frame is indexed yet, a recorder does not end an agent whose client has left."""
    scene = await play(clock, (10, Scene.client_leaves), answers=None)
    assert scene.agent.sent == []


async def test_a_living_client_keeps_its_agent(clock: MockClock) -> None:
    """If a client closes its end of a pipe but still runs, a recorder does not end the agent."""
    scene = await play(clock, (10, Scene.client_closes), answers=nothing_open)
    assert scene.agent.sent == []


async def test_a_client_that_dies_later_ends_the_agent(clock: MockClock) -> None:
    """For a recorder, the grace time begins when the client exits, not when its pipe ends."""
    scene = await play(
        clock, (10, Scene.client_closes), (100, Scene.client_leaves), answers=nothing_open
    )
    assert scene.agent.sent[0][0] == pytest.approx(104, abs=LOOKS)


async def test_an_agent_without_a_reader_is_ended(clock: MockClock) -> None:
    """If nobody reads an agent's output, a recorder ends the agent even if a request is open."""
    for answers in (nothing_open, Answers(lambda _: True), None):
        scene = Scene(clock)
        scene.nobody_reads()
        scene.client_closes()
        with trio.move_on_after(2 * GRACE + 2):
            await end_overstay(scene.relay, cast("Indexing | None", answers), GRACE)
        os.close(scene.relay.to_client.sink)
        assert [signum for _, signum in scene.agent.sent] == [signal.SIGTERM, signal.SIGKILL]


async def test_an_agent_that_closed_its_own_output_may_stay(clock: MockClock) -> None:
    """If client and agent have both closed their pipes, a recorder lets the agent run."""

    def closes_its_output(scene: Scene) -> None:
        scene.relay.to_client.source_ended = True
        scene.relay.to_client.ended.set()

    scene = await play(
        clock, (10, Scene.client_closes), (11, closes_its_output), answers=nothing_open
    )
    assert scene.agent.sent == []


async def test_a_broken_input_does_not_mean_that_the_client_left(clock: MockClock) -> None:
    """If an agent closes its input, a recorder does not treat the client as gone."""

    def closes_its_input(scene: Scene) -> None:
        scene.relay.to_agent.ended.set()
        scene.relay.parent = -1

    scene = await play(clock, (10, closes_its_input), answers=nothing_open)
    assert scene.agent.sent == []


async def test_an_agent_that_its_client_does_not_read_may_stay(clock: MockClock) -> None:
    """While a client reads slowly, a recorder does not count the time as the agent's silence."""
    scene = await play(
        clock, (10, Scene.client_leaves), (11, blocks), (500, unblocks), answers=nothing_open
    )
    at, signum = scene.agent.sent[0]
    assert signum == signal.SIGTERM
    assert at == pytest.approx(504, abs=LOOKS)


async def test_a_descendant_gets_some_idle_seconds(clock: MockClock) -> None:
    """If a silent child of an ended agent keeps stdout open, a recorder kills the child."""
    scene = await play(clock, (10, Scene.agent_exits))
    assert scene.agent.sent == [(10 + LINGER, signal.SIGKILL)]
    assert scene.abandoned


async def test_a_descendant_that_ends_is_left_alone(clock: MockClock) -> None:
    """If an agent's outputs end soon after its exit, a recorder kills no child of the agent."""
    scene = await play(clock, (10, Scene.agent_exits), (10 + LINGER - 0.1, Scene.outputs_end))
    assert scene.agent.sent == []


async def test_a_descendant_that_writes_may_stay(clock: MockClock) -> None:
    """After an agent's exit, a recorder does not kill a child that still writes."""
    says = [(float(at), Scene.agent_says) for at in range(12, 100, 4)]
    scene = await play(clock, (10, Scene.agent_exits), *says)
    assert scene.agent.sent == [(96 + LINGER, signal.SIGKILL)]


async def test_a_slow_client_gets_everything(clock: MockClock) -> None:
    """While a client reads slowly, a recorder kills no child process of an agent that has ended."""
    scene = await play(clock, (5, blocks), (10, Scene.agent_exits), (700, unblocks))
    ((at, signum),) = scene.agent.sent
    assert signum == signal.SIGKILL
    assert at == pytest.approx(700 + LINGER, abs=LOOKS)


async def test_nothing_lingers_before_the_exit(clock: MockClock) -> None:
    """While an agent runs, a recorder kills none of the agent's children."""
    scene = await play(clock, (10, Scene.agent_says))
    assert scene.agent.sent == []


class Notes(Log):
    """A log that keeps its notes: the time, the stream and the fields of each note."""

    def __init__(self) -> None:
        self.written: list[tuple[float, int, dict[str, object]]] = []

    def event(self, kind: int, fields: dict[str, str | int | list[str]], stream: int = 0) -> bool:
        """Keeps a note."""
        assert kind == NOTE
        self.written.append((trio.current_time(), stream, dict(fields)))
        return True


async def noted(clock: MockClock, *steps: Step) -> list[tuple[float, int, dict[str, object]]]:
    """Plays steps at their times, and returns what `note_stalls` writes into the log."""
    scene = Scene(clock)
    notes = scene.relay.log = Notes()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(note_stalls, scene.relay)
        for at, step in steps:
            await trio.sleep_until(at)
            step(scene)
        await trio.sleep_until(100)
        nursery.cancel_scope.cancel()
    return notes.written


async def test_a_client_that_stops_reading_is_noted_once(clock: MockClock) -> None:
    """If a client does not read for five seconds, a recorder logs one event about the stall."""
    written = await noted(clock, (10.5, blocks), (72.5, unblocks))
    assert written == [
        (
            16,
            TO_CLIENT,
            {
                "action": "stalled",
                "reason": "the client has not read for 6 s",
                "since": 10_500_000_000,
            },
        ),
        (
            73,
            TO_CLIENT,
            {
                "action": "resumed",
                "reason": "the client reads again after 62 s",
                "since": 10_500_000_000,
            },
        ),
    ]


async def test_an_agent_that_stops_reading_is_noted(clock: MockClock) -> None:
    """If an agent stops reading, a recorder logs one event about the stall."""

    def agent_blocks(scene: Scene) -> None:
        scene.relay.to_agent.last_ns = now_ns()
        scene.relay.to_agent.in_read = False

    ((at, stream, fields),) = await noted(clock, (1, agent_blocks))
    assert at == pytest.approx(1 + STALL, abs=1)
    assert stream == TO_AGENT
    assert fields["reason"] == "the agent has not read for 5 s"


async def test_a_slow_reader_is_not_noted(clock: MockClock) -> None:
    """If a client reads slowly, a recorder does not record the client as stalled."""
    steps = [(n + 0.5, blocks) for n in range(1, 60, 4)]
    assert await noted(clock, *steps, (60, unblocks)) == []


async def test_waiting_for_something_to_read_is_no_stall(clock: MockClock) -> None:
    """If an agent has nothing to read, a recorder does not record the agent as stalled."""
    assert await noted(clock, (1, Scene.agent_says)) == []


async def test_the_end_of_a_stream_is_no_reading_again(clock: MockClock) -> None:
    """If a stalled client leaves, a recorder does not log that the client reads again."""

    def client_goes(scene: Scene) -> None:
        scene.relay.to_client.in_read = False
        scene.relay.to_client.ended.set()

    ((_, _, fields),) = await noted(clock, (1, blocks), (50, client_goes))
    assert fields["action"] == "stalled"


async def test_a_slow_disk_is_no_stall_of_a_peer(clock: MockClock) -> None:
    """If only the disk is slow, a recorder does not log the client as stalled."""
    reading, writing = os.pipe()
    try:

        def waits_for_the_disk(scene: Scene) -> None:
            scene.relay.to_client.sink = writing
            blocks(scene)

        def fills(_: Scene) -> None:
            os.write(writing, b"x" * 1000)

        ((at, _, fields),) = await noted(clock, (1, waits_for_the_disk), (30, fills))
    finally:
        os.close(reading)
        os.close(writing)
    assert at == pytest.approx(30, abs=1)
    assert fields["bytes"] == 1000
