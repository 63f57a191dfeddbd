"""Real clients cannot distinguish a recorder from the agent behind it."""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.agents.plain_agent import SAMPLE_NAME, SAMPLE_TEXT
from tests.support.npm_packages import NODE

ROOT = Path(__file__).parents[2]
AGENT = ROOT / "tests" / "agents" / "sdk_agent.py"
GREETING_AGENT = ROOT / "tests" / "agents" / "greeting_agent.py"
TS_CLIENT = ROOT / "tests" / "agents" / "ts_client.mjs"
SCENARIOS = ["--scenario", "hello", "--scenario", "tour", "--scenario", "slow"]
TIMEOUT_S = 120

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The ids that acpx gives to terminals, and other values that differ between runs."""


@dataclass(frozen=True)
class Wire:
    """The messages that a peer has received and sent, as the peer noted them itself."""

    received: list[Any]
    sent: list[Any]

    @classmethod
    def load(cls, path: Path) -> Wire:
        """Reads the file that a peer writes with its option ``--wire``."""
        notes = [json.loads(UUID.sub("UUID", line)) for line in path.read_text().splitlines()]
        received = [note["message"] for note in notes if note["received"]]
        return cls(received, [note["message"] for note in notes if not note["received"]])


@dataclass(frozen=True)
class Seen:
    """The output of a client, and the messages of its agent."""

    printed: str
    agent: Wire


@dataclass(frozen=True)
class Client:
    """A real client, and the directory in which it works."""

    name: str
    directory: Path
    npm: Path | None
    prompt: str = "tour"
    """The prompt of acpx."""

    def run(self, *proxy: str) -> Seen:
        """Runs the client with the agent, through a recorder if `proxy` is given."""
        wire = self.directory / "agent.wire"
        printed = self._talk([*proxy, sys.executable, str(AGENT), "--wire", str(wire)])
        return Seen(printed, Wire.load(wire))

    def record(self, acp_proxy: Path, recording: Path, session: str) -> str:
        """Records the client with an agent that uses the given session id; returns its output."""
        record = [str(acp_proxy), "record", "-o", str(recording), "--"]
        return self._talk([*record, sys.executable, "-IS", str(GREETING_AGENT), session])

    def replay(self, acp_proxy: Path, *recordings: Path) -> str:
        """Runs the client with a replay; returns its output."""
        words = ["--report", str(self.report), *map(str, recordings)]
        printed = self._talk([str(acp_proxy), "replay", *words])
        result = json.loads(self.report.read_text())
        assert (result["verdict"], result["unplayed"]) == ("clean", 0), result["divergences"]
        return printed

    @property
    def report(self) -> Path:
        """Returns the path of the replay's report."""
        return self.directory / "report.json"

    def _talk(self, agent: list[str]) -> str:
        project = self.directory / "project"
        project.mkdir(exist_ok=True)
        (project / SAMPLE_NAME).write_text(SAMPLE_TEXT, encoding="utf-8")
        result = subprocess.run(
            self._command(str(project), agent),
            cwd=ROOT,
            env=self._environment(),
            capture_output=True,
            timeout=TIMEOUT_S,
        )
        assert result.returncode == 0, result.stderr.decode()
        return UUID.sub("UUID", result.stdout.decode())

    def _command(self, cwd: str, agent: list[str]) -> list[str]:
        match self.name:
            case "python":
                module = [sys.executable, "-m", "tests.agents.sdk_client", "--wire"]
                wire = str(self.directory / "client.wire")
                return [*module, wire, "--cwd", cwd, *SCENARIOS, "--", *agent]
            case "typescript":
                return ["node", str(TS_CLIENT), "--cwd", cwd, *SCENARIOS, "--", *agent]
            case _:
                acpx = [f"{self.npm}/.bin/acpx", "--approve-all", "--format", "json", "--cwd", cwd]
                return [*acpx, "--agent", shlex.join(agent), "exec", self.prompt]

    def _environment(self) -> dict[str, str]:
        ours = {k: v for k, v in os.environ.items() if not k.startswith("ACP_PROXY_")}
        sdk = f"{self.npm}/@agentclientprotocol/sdk"
        path = f"{self.npm}/{NODE}/bin{os.pathsep}{ours['PATH']}"
        return {**ours, "PATH": path, "HOME": str(self.directory), "ACP_SDK_DIR": sdk}


@dataclass(frozen=True)
class Recording:
    """Reads a recording by SQL, without the code of acp-proxy."""

    path: Path
    acp_proxy: Path

    def rows(self, sql: str) -> list[Any]:
        """Returns the rows of a query, after the rest of the capture log is indexed."""
        if Path(f"{self.path}.log").exists():  # the talk was over before the indexer was up
            show = [str(self.acp_proxy), "inspect", "show", str(self.path)]
            subprocess.run(show, check=True, capture_output=True, timeout=TIMEOUT_S)
        with closing(sqlite3.connect(self.path)) as database:
            return database.execute(sql).fetchall()

    def lines(self, stream: str) -> list[bytes]:
        """Returns the frames of a stream without their newlines."""
        result = self.rows(
            f"select raw, newline from frames where stream = '{stream}' order by seq"
        )
        assert {newline for _, newline in result} <= {"\n"}
        return [bytes(raw).removesuffix(b"\n") for raw, _ in result]

    def wire(self) -> Wire:
        """Returns the recorded messages as the agent received and sent them."""
        sides = [self.lines("to-agent"), self.lines("to-client")]
        return Wire(*([json.loads(UUID.sub("UUID", f.decode())) for f in side] for side in sides))


@dataclass(frozen=True)
class Talks:
    """Two runs of one conversation: directly, and through a recorder."""

    client: Client
    direct: Seen
    proxied: Seen
    recording: Recording


def talk_twice(client: Client, acp_proxy: Path) -> Talks:
    """Runs a client twice: directly with the agent, and through a recorder."""
    direct = client.run()
    path = client.directory / "talk.db"
    proxied = client.run(str(acp_proxy), "record", "-o", str(path), "--")
    return Talks(client, direct, proxied, Recording(path, acp_proxy))


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory, acp_proxy: Path) -> Talks:
    """Returns both runs of the client with the Python SDK."""
    return talk_twice(Client("python", tmp_path_factory.mktemp("python"), None), acp_proxy)


@pytest.fixture(scope="module")
def typescript(
    tmp_path_factory: pytest.TempPathFactory, acp_proxy: Path, npm_packages: Path
) -> Talks:
    """Returns both runs of the client with the TypeScript SDK."""
    directory = tmp_path_factory.mktemp("typescript")
    return talk_twice(Client("typescript", directory, npm_packages), acp_proxy)


@pytest.fixture(scope="module")
def acpx(tmp_path_factory: pytest.TempPathFactory, acp_proxy: Path, npm_packages: Path) -> Talks:
    """Returns both runs of the client acpx."""
    return talk_twice(Client("acpx", tmp_path_factory.mktemp("acpx"), npm_packages), acp_proxy)


@pytest.fixture(
    params=[
        "python",
        pytest.param("typescript", marks=pytest.mark.slow),
        pytest.param("acpx", marks=pytest.mark.slow),
    ]
)
def talks(request: pytest.FixtureRequest) -> Talks:
    """Returns both runs of a client; each test runs once for each client."""
    result: Talks = request.getfixturevalue(request.param)
    return result


def test_no_client_can_tell_the_proxy_from_its_agent(talks: Talks, acp_proxy: Path) -> None:
    """Real clients print the same with a recorder as without one."""
    assert '"end_turn"' in talks.direct.printed
    assert talks.proxied.printed == talks.direct.printed
    assert talks.proxied.agent == talks.direct.agent
    assert talks.recording.wire() == talks.proxied.agent
    assert talks.recording.rows("select state from recording") == [("complete",)]
    frames = talks.recording.rows("select seq, stream, kind, method from frames order by seq")
    assert len({seq for seq, *_ in frames}) == len(frames)
    assert frames[0][1:] == ("to-agent", "request", "initialize")
    assert talks.client.replay(acp_proxy, talks.recording.path) == talks.direct.printed


def test_the_recording_has_the_bytes_of_the_sdk(python: Talks) -> None:
    """The recording of a client on an SDK contains exactly the bytes that the SDK sent."""
    client = Wire.load(python.client.directory / "client.wire")
    assert python.recording.wire() == Wire(received=client.sent, sent=client.received)
    sent = [json.dumps(m, separators=(",", ":")).encode() for m in python.proxied.agent.sent]
    assert python.recording.lines("to-client") == sent
    assert python.recording.rows("select exit_code, exit_signal from recording") == [(0, None)]


@pytest.mark.slow
def test_both_sdks_see_the_same(python: Talks, typescript: Talks) -> None:
    """Behind a recorder, clients on the Python SDK and the TypeScript SDK print the same."""
    assert json.loads(typescript.proxied.printed) == json.loads(python.proxied.printed)


@pytest.mark.slow
def test_the_recording_has_every_frame_acpx_printed(acpx: Talks) -> None:
    """Each message that the client acpx prints is recorded once."""
    wire = acpx.recording.wire()
    printed = [json.loads(line) for line in acpx.proxied.printed.splitlines()]
    assert Counter(map(repr, printed)) == Counter(map(repr, [*wire.received, *wire.sent]))


@pytest.mark.slow
def test_each_start_by_acpx_plays_its_own_recording(
    tmp_path: Path, acp_proxy: Path, npm_packages: Path
) -> None:
    """If acpx starts its agent for each prompt, each start has its own recording."""
    clients = []
    for word in ("one", "two"):
        (tmp_path / word).mkdir()
        clients.append(Client("acpx", tmp_path / word, npm_packages, f"hello, {word}"))
    recordings = [client.directory / "talk.db" for client in clients]

    def record(client: Client) -> str:
        return client.record(acp_proxy, client.directory / "talk.db", client.directory.name)

    with ThreadPoolExecutor(len(clients)) as at_once:
        recorded = [*at_once.map(record, clients)]
        played = [*at_once.map(lambda client: client.replay(acp_proxy, *recordings), clients)]
    for client, recording, was, now in zip(clients, recordings, recorded, played, strict=True):
        assert json.loads(client.report.read_text())["recording"] == str(recording)
        assert now == was.replace(f'"{client.directory.name}"', '"one"')
