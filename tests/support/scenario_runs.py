"""Makes several runs of one scenario, each with its own ids, and compares them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from acp_proxy.diff.diff import diff
from acp_proxy.diff.diff_result import DiffOptions
from acp_proxy.diff.learned_rules import learn
from tests.support.drawn_conversations import HEADER, reader_of
from tests.support.log_writer import notification, request, result, text

if TYPE_CHECKING:
    from acp_proxy.diff.diff_result import Diff, DiffEntry
    from acp_proxy.diff.learned_rules import Learned
    from acp_proxy.store.reader import RecordingReader


UUIDS = (
    "0b5cf80e-5e1a-4c53-9f4c-2f7d3a1b6c01",
    "a1b2c3d4-0000-4000-8000-00000000beef",
)
Said = tuple[str, Any]
OUT, IN = "to-agent", "to-client"


class Run:
    """One run of a scenario, with ids and directories of its own."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.session = f"ses_{number}aZ8k2Lq90{number}"
        self.cwd = f"/home/{'ab'[number]}{'x' * number}/project"
        self.said: list[Said] = [
            (OUT, request(0, "initialize", protocolVersion=1, clientCapabilities={})),
            (IN, result(0, protocolVersion=1, agentCapabilities={"loadSession": True})),
            (OUT, request(1, "session/new", cwd=self.cwd, mcpServers=[])),
            (IN, result(1, sessionId=self.session)),
            (OUT, request(2, "session/prompt", sessionId=self.session, prompt=[text("go")])),
        ]

    def call(self, name: str) -> str:
        """Returns the id of a tool call, which differs between runs."""
        return f"toolu_{name}{self.number}{hash_of(name, self.number)}"

    def tell(self, what: str, /, **fields: Any) -> Run:
        """Adds a session update to the run."""
        params = {"sessionId": self.session, "update": {"sessionUpdate": what, **fields}}
        self.said.append((IN, notification("session/update", **params)))
        return self

    def words(self, *pieces: str, **fields: Any) -> Run:
        """Adds a text of the agent in several chunks."""
        for piece in pieces:
            self.tell("agent_message_chunk", content=text(piece), **fields)
        return self

    def add(self, stream: str, message: Any) -> Run:
        """Adds any message or line of stderr."""
        self.said.append((stream, message))
        return self

    def end(self, reason: str = "end_turn") -> Run:
        """Adds the end of the turn."""
        return self.add(IN, result(2, stopReason=reason))

    def open(self) -> RecordingReader:
        """Opens the run as a recording."""
        lines = [json.dumps(HEADER)]
        for stream, message in self.said:
            member = "text" if isinstance(message, str) else "message"
            lines.append(json.dumps({"stream": stream, member: message}))
        return reader_of([f"{line}\n".encode() for line in lines])


def hash_of(name: str, number: int) -> int:
    """Returns a number that depends on a name and a run, for use in an id."""
    return sum(map(ord, name)) * 7919 + number * 104729


def compare(a: Run, b: Run, **options: Any) -> tuple[Diff, list[DiffEntry]]:
    """Returns the result of `diff` for two runs, and the differences."""
    with a.open() as of_a, b.open() as of_b:
        comparison = diff(of_a, of_b, DiffOptions(**options))
        return comparison, [*comparison.entries()]


def rules(a: Run, b: Run) -> Learned:
    """Returns the rules that `diff` learns from two runs, with which the runs are equal."""
    with a.open() as of_a, b.open() as of_b:
        return learn(of_a, of_b)
