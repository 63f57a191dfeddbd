"""Plays a recording against its own client: no process, no pipe, no clock.

What is clean here replays: the agent's side and the client's are both taken from the recording, so
whatever diverges is in the recording.
"""

from collections import deque
from typing import TYPE_CHECKING

from acp_proxy.commands import Command, Finish, Send, WakeAt
from acp_proxy.engine.agent.options import ReplayOptions
from acp_proxy.engine.agent.replay import Replay
from acp_proxy.engine.agent.report import ReplayReport, report
from acp_proxy.engine.client.scripted_client import ScriptedClient
from acp_proxy.events import EndOfInput, Event, LineReceived, Wakeup
from acp_proxy.store.recorded_steps import RecordedSteps

if TYPE_CHECKING:
    from acp_proxy.store.reader import RecordingReader


def rehearse(reader: "RecordingReader", options: ReplayOptions | None = None) -> ReplayReport:
    """Replays a recording to its own client.

    Args:
        reader: the recording.
        options: how to replay it.

    Returns:
        What the replay reports; its verdict is ``clean`` if the recording replays.

    Raises:
        UnreadableRecording: it cannot be read.
    """
    return _Rehearsal(reader, options or ReplayOptions()).run()


class _Rehearsal:
    def __init__(self, reader: "RecordingReader", options: ReplayOptions) -> None:
        self._reader = reader
        self._replay = Replay(RecordedSteps(reader), options)
        self._client = ScriptedClient(RecordedSteps(reader))
        self._said: deque[bytes] = deque()
        self._heard = b""
        self._now = 1
        self._wake_at: int | None = None
        self._is_over = False

    def run(self) -> ReplayReport:
        self._feed(Wakeup(self._now))
        self._said.extend(self._client.begin())
        while not self._is_over:
            if self._said:
                raw = self._said.popleft().rstrip(b"\n").removesuffix(b"\r")
                self._feed(LineReceived(raw, self._now))
            elif self._wake_at is not None and not self._client_leaves():
                self._now = max(self._now + 1, self._wake_at)
                self._feed(Wakeup(self._now))
            else:
                self._feed(EndOfInput(self._now))
        incomplete = self._reader.recording.state == "incomplete"
        return report(self._replay, self._reader.recording.name, is_incomplete=incomplete)

    def _client_leaves(self) -> bool:
        return self._client.is_done or self._client.unexpected is not None

    def _feed(self, event: Event) -> None:
        for command in self._replay.feed(event):
            self._obey(command)

    def _obey(self, command: Command) -> None:
        match command:
            case Send(data):
                *lines, self._heard = (self._heard + data).split(b"\n")
                for line in lines:
                    self._said.extend(self._client.hear(line))
            case WakeAt(at):
                self._wake_at = at
            case Finish():
                self._is_over = True
