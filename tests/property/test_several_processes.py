"""If a replay has several recordings of an agent, each start plays the one of its client."""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.events import EndOfInput, LineReceived, Send
from acp_proxy.playback.replay.recording_choice import RecordingChoice
from acp_proxy.playback.replay.replay import Replay
from acp_proxy.playback.replay.replay_state import ReplayOptions
from acp_proxy.playback.shared.divergence import Rank
from acp_proxy.store.queries.recorded_steps import RecordedSteps
from acp_proxy.store.reader import RecordingReader
from tests.support.reactive_client import Conversation
from tests.support.shipped_recordings import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from acp_proxy.playback.events import Event


class Client:
    """A recorded client that uses the session ids that a replay sends."""

    def __init__(self, conversation: Conversation, engine: RecordingChoice) -> None:
        self.heard: list[bytes] = []
        self.names: dict[str, str] = {}
        self._conversation = conversation
        self._engine = engine
        self._now = 10**9
        self._answers: dict[str, str] = {}

    def play(self) -> None:
        """Sends all recorded messages in recorded order, and closes the connection."""
        lines = {say.step.seq: say.raw for say in self._conversation.frames}
        for seq, line in sorted({**lines, **self._conversation.lines}.items()):
            if seq not in lines:
                self._learn(line)
                continue
            for own, replayed in self.names.items():
                line = line.replace(own.encode(), replayed.encode())
            self._feed(LineReceived(line, self._now))
        self._feed(EndOfInput(self._now))

    @property
    def recorded_lines(self) -> list[bytes]:
        """Returns the lines that the client received, with session ids as recorded."""
        lines = self.heard
        for own, replayed in self.names.items():
            lines = [line.replace(replayed.encode(), own.encode()) for line in lines]
        return lines

    def _feed(self, event: Event) -> None:
        self._now += 1000
        for command in self._engine.feed(event):
            if isinstance(command, Send):
                self.heard.append(command.data)
                answer = json.loads(command.data)
                if "sessionId" in (answer.get("result") or {}):
                    self._answers[json.dumps(answer["id"])] = answer["result"]["sessionId"]

    def _learn(self, line: bytes) -> None:
        """Notes the session id that the replay uses in place of a recorded one."""
        with contextlib.suppress(ValueError):
            answer = json.loads(line)
            if "sessionId" in (answer.get("result") or {}):
                replayed = self._answers[json.dumps(answer["id"])]
                self.names[answer["result"]["sessionId"]] = replayed


@pytest.fixture(scope="module")
def conversations(every_recording: list[Path]) -> Iterator[list[Conversation]]:
    """Yields the captured conversations of real agents."""
    captured = [path for path in every_recording if path not in SHIPPED]
    with contextlib.ExitStack() as stack:
        readers = [stack.enter_context(RecordingReader(path)) for path in captured]
        yield [Conversation.load(reader) for reader in readers]


ASKED_ALIKE = {"gemini-0.61.0-perm_cancel": "perm_allow", "gemini-0.61.0-perm_reject": "perm_allow"}
"""Clients that send the same as an earlier one, although their agent answers differently: it
uses other tool call ids. Nothing that the clients send before distinguishes them."""


@pytest.mark.parametrize(
    ("agent", "played"),
    [
        ("claude-code-acp", ""),
        ("gemini", "perm_"),
        pytest.param("gemini", "", marks=pytest.mark.soak),
        ("pysdk-echo", ""),
    ],
)
def test_each_start_plays_its_own_recording(
    conversations: list[Conversation], agent: str, played: str
) -> None:
    """If a replay has several recordings, it plays the one whose client acted like the live one."""
    of_agent = [other for other in conversations if other.path.name.startswith(agent)]
    assert len(of_agent) >= 5
    for conversation in (other for other in of_agent if played in other.path.name):
        replays = [Replay(RecordedSteps(other.reader), ReplayOptions()) for other in of_agent]
        engine = RecordingChoice(replays)
        client = Client(conversation, engine)
        client.play()
        chosen = of_agent[replays.index(engine.chosen)].path.stem
        if (other := ASKED_ALIKE.get(conversation.path.stem)) is not None:
            assert chosen.endswith(other)
            continue
        assert chosen == conversation.path.stem
        divergences = engine.state.divergences.found
        assert [other for other in divergences if other.rank is not Rank.INFO] == []
        assert sorted(client.recorded_lines) == sorted(conversation.lines.values())
