"""Tests the course of a conversation in `try`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import trio

from acp_proxy.protocol.dialects import DRAFT, V1
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.try_.agent_connection import AgentLeft
from acp_proxy.try_.agent_requests import AgentRequests, ConsentQuestion, Policy
from acp_proxy.try_.dialogue import Dialogue, Refused
from acp_proxy.try_.forms import Forms
from acp_proxy.try_.running_commands import RunningCommands
from acp_proxy.try_.work_files import WorkFiles
from tests.support.live_agent import LiveAgent

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


async def _nobody(_question: ConsentQuestion) -> int | None:
    raise AssertionError("nobody is asked")


async def _prompts(*texts: str) -> AsyncIterator[str]:
    for text in texts:
        yield text


class Played:
    """A dialogue with an agent that the test plays."""

    def __init__(self, nursery: trio.Nursery, root: Path, dialect: str = V1) -> None:
        self.agent = LiveAgent(watch=self._watch)
        requests = AgentRequests(
            Policy.REJECT, _nobody, WorkFiles(root), RunningCommands(nursery), dialect
        )
        self.dialogue = Dialogue(self.agent.connection, requests, Forms(dialect), [])
        self.error: Exception | None = None
        self.ended = trio.Event()
        self._nursery = nursery

    def _watch(self, direction: Direction, raw: bytes) -> None:
        if direction is Direction.TO_CLIENT:
            self.dialogue.note(raw)

    async def start(self, *prompts: str, version: Any = 1) -> None:
        """Starts the dialogue, and answers its handshake."""
        self._nursery.start_soon(self._run)
        self._nursery.start_soon(self._play, prompts)
        await self.agent.answer({"protocolVersion": version})
        opened = await self.agent.answer({"sessionId": "s"})
        key = "cwd" if "cwd" in opened["params"] else "workingDirectory"
        assert opened["params"][key] == str(Path.cwd())

    async def _run(self) -> None:
        await self.agent.connection.run()
        self.dialogue.leave()

    async def _play(self, prompts: tuple[str, ...]) -> None:
        try:
            await self.dialogue.play(_prompts(*prompts))
        except (AgentLeft, Refused) as e:
            self.error = e
        self.ended.set()


async def test_prompts_are_turns_one_after_the_other(tmp_path: Path, nursery: trio.Nursery) -> None:
    """`try` sends the second prompt after the answer to the first, even if it is an error."""
    played = Played(nursery, tmp_path)
    await played.start("one", "two")
    first = await played.agent.read()
    assert first["params"]["prompt"][0]["text"] == "one"
    assert played.dialogue.is_turn_open
    await played.agent.send(id=first["id"], error={"code": -32603, "message": "no"})
    second = await played.agent.answer({"stopReason": "end_turn"})
    assert second["params"]["prompt"][0]["text"] == "two"
    await played.ended.wait()
    assert played.error is None
    assert not played.dialogue.is_turn_open


async def test_a_turn_is_cancelled_once(tmp_path: Path, nursery: trio.Nursery) -> None:
    """If a turn is cancelled twice, `try` sends only one cancellation to the agent."""
    played = Played(nursery, tmp_path)
    await played.start("one")
    prompt = await played.agent.read()
    assert await played.dialogue.cancel()
    cancelled = await played.agent.read()
    assert cancelled["method"] == "session/cancel"
    assert cancelled["params"] == {"sessionId": "s"}
    assert not await played.dialogue.cancel()
    await played.agent.send(id=prompt["id"], result={"stopReason": "cancelled"})
    await played.ended.wait()
    assert not await played.dialogue.cancel()


async def test_a_turn_of_version_2_ends_with_the_idle_state(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    """In v2, the next prompt of `try` waits until the session is idle."""
    played = Played(nursery, tmp_path)
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
    assert played.error is None


@pytest.mark.parametrize("version", [1, 2])
async def test_an_agent_that_leaves_ends_the_dialogue(
    tmp_path: Path, nursery: trio.Nursery, version: int
) -> None:
    """The end of the agent's output within a turn ends the dialogue of `try`, in v1 and v2."""
    played = Played(nursery, tmp_path)
    await played.start("one", "two", version=version)
    if version == 2:
        await played.agent.answer({})
    await played.agent.leave()
    await played.ended.wait()
    assert isinstance(played.error, AgentLeft)


async def test_a_refused_session_ends_the_dialogue(tmp_path: Path, nursery: trio.Nursery) -> None:
    """If an agent refuses to open a session, `try` gives the agent's words as the reason."""
    played = Played(nursery, tmp_path)
    nursery.start_soon(played._run)
    nursery.start_soon(played._play, ("one",))
    await played.agent.answer({"protocolVersion": 1})
    opening = await played.agent.read()
    await played.agent.send(id=opening["id"], error={"code": -32000, "message": "log in first"})
    await played.ended.wait()
    assert str(played.error) == "the agent answered session/new with an error: log in first"


async def test_the_draft_is_spoken_from_the_start(tmp_path: Path, nursery: trio.Nursery) -> None:
    """In the 1.0 draft, `try` opens a session with a directory, and prompts with content."""
    played = Played(nursery, tmp_path, DRAFT)
    await played.start("one")
    prompt = await played.agent.answer({"stopReason": "end_turn"})
    assert prompt["params"]["content"][0]["text"] == "one"
    await played.ended.wait()
