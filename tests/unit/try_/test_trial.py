"""Tests the course of a conversation in `try`."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from acp_proxy.protocol.dialects import DRAFT, V1
from acp_proxy.try_.agent_requests import Policy
from acp_proxy.try_.forms import Forms
from acp_proxy.try_.trial import Trial, TrialScreen
from tests.support.live_agent import LiveAgent, running

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from trio.testing import MockClock

    from acp_proxy.protocol.jsonrpc import Direction
    from acp_proxy.try_.agent_requests import ConsentQuestion


class _Screen(TrialScreen):
    """Stands for the screen of `try`: has prompts, and shows nothing."""

    def __init__(self) -> None:
        self.texts: tuple[str, ...] = ()
        self.heard = b""

    async def prompts(self) -> AsyncGenerator[str, None]:
        for text in self.texts:
            yield text

    def watch(self, direction: Direction, raw: bytes) -> None:
        pass

    async def ask(self, _question: ConsentQuestion) -> int | None:
        raise AssertionError("nobody is asked")

    def stderr(self, text: bytes) -> None:
        self.heard += text

    def tick(self, quiet_since: int) -> None:
        pass


class Played:
    """A conversation of `try` with an agent that the test plays."""

    def __init__(self, nursery: trio.Nursery, dialect: str = V1) -> None:
        self.agent, self.screen = LiveAgent(), _Screen()
        self.trial = Trial(
            lambda _signals: running(self.agent.client, self.agent.client),
            self.screen, Policy.REJECT, Forms(dialect), [], 60.0,
        )  # fmt: skip
        self.ended = trio.Event()
        self.nursery = nursery

    async def start(self, *prompts: str, version: Any = 1) -> None:
        """Starts the conversation, and answers the requests that open it."""
        self.screen.texts = prompts
        self.nursery.start_soon(self.play)
        await self.agent.answer({"protocolVersion": version})
        opened = await self.agent.answer({"sessionId": "s"})
        key = "cwd" if "cwd" in opened["params"] else "workingDirectory"
        assert opened["params"][key] == str(Path.cwd())

    async def play(self) -> None:
        """Plays the conversation to its end."""
        await self.trial.play()
        self.ended.set()


async def test_prompts_are_turns_one_after_the_other(nursery: trio.Nursery) -> None:
    """`try` sends each prompt after the answer to the prompt before."""
    played = Played(nursery)
    await played.start("one", "two")
    first = await played.agent.read()
    assert first["params"]["prompt"][0]["text"] == "one"
    await played.agent.send(id=first["id"], error={"code": -32603, "message": "no"})
    second = await played.agent.answer({"stopReason": "end_turn"})
    assert second["params"]["prompt"][0]["text"] == "two"
    await played.ended.wait()
    assert played.trial.detail == ""
    assert played.screen.heard == b"noise"


@pytest.mark.parametrize("is_stopped", [False, True])
async def test_a_turn_is_cancelled_once(nursery: trio.Nursery, is_stopped: bool) -> None:
    """In a turn of `try`, a first Ctrl-C cancels the turn, and a second one ends `try`."""
    played = Played(nursery)
    await played.start("one")
    prompt = await played.agent.read()
    signal.raise_signal(signal.SIGINT)
    cancelled = await played.agent.read()
    assert cancelled["method"] == "session/cancel"
    assert cancelled["params"] == {"sessionId": "s"}
    if is_stopped:
        signal.raise_signal(signal.SIGINT)
    else:
        assert played.trial.agent.requests.is_cancelled
        await played.agent.send(id=prompt["id"], result={"stopReason": "cancelled"})
    await played.ended.wait()
    assert played.trial.agent.requests.is_cancelled is is_stopped
    assert played.trial.detail == ("stopped" if is_stopped else "")


async def test_a_turn_of_version_2_ends_with_the_idle_state(nursery: trio.Nursery) -> None:
    """In v2, `try` sends the next prompt when the session is idle."""
    played = Played(nursery)
    await played.start("one", version=2)
    await played.agent.answer({})
    await trio.testing.wait_all_tasks_blocked()
    assert not played.ended.is_set()
    for state in ("running", "idle"):
        update = {"sessionUpdate": "state_update", "state": state}
        await played.agent.send(
            method="session/update", params={"sessionId": "s", "update": update}
        )
    await played.ended.wait()
    assert played.trial.detail == ""


@pytest.mark.parametrize("version", [1, 2])
async def test_an_agent_that_leaves_ends_the_dialogue(nursery: trio.Nursery, version: int) -> None:
    """If the agent leaves within a turn, `try` ends and says that no answer came."""
    played = Played(nursery)
    await played.start("one", "two", version=version)
    if version == 2:
        await played.agent.answer({})
    await played.agent.leave()
    await played.ended.wait()
    assert played.trial.detail == "the agent ended before it had answered"


async def test_a_refused_session_ends_the_dialogue(nursery: trio.Nursery) -> None:
    """If an agent refuses a session, `try` prints the agent's error and ends."""
    played = Played(nursery)
    nursery.start_soon(played.play)
    await played.agent.answer({"protocolVersion": 1})
    opening = await played.agent.read()
    await played.agent.send(id=opening["id"], error={"code": -32000, "message": "log in first"})
    await played.ended.wait()
    assert played.trial.detail == "the agent answered session/new with an error: log in first"


async def test_the_draft_is_spoken_from_the_start(nursery: trio.Nursery) -> None:
    """In the 1.0 draft, `try` sends a prompt in the form of the draft."""
    played = Played(nursery, DRAFT)
    await played.start("one")
    prompt = await played.agent.answer({"stopReason": "end_turn"})
    assert prompt["params"]["content"][0]["text"] == "one"
    await played.ended.wait()


async def test_an_agent_that_hangs_ends_the_conversation(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    """In v2, `try` reports a hang if the session never becomes idle."""
    assert autojump_clock.autojump_threshold == 0, "no test waits"
    played = Played(nursery)
    await played.start("one", version=2)
    await played.agent.answer({})
    await played.ended.wait()
    assert played.trial.detail == played.trial.agent.silence == "the agent was silent for 60 s"
    assert played.trial.agent.recorder.is_hopeless
