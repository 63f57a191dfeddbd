"""Tests `acp-proxy try` with real agents."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import uuid
from typing import TYPE_CHECKING

import pytest

from acp_proxy.check.judgement import summarize_whole
from acp_proxy.store.reader import RecordingReader
from tests.agents.plain_agent import SAMPLE_NAME, SAMPLE_TEXT
from tests.integration.processes import DEADLINE_S, MARK, marked, needs_proc, wait_until
from tests.integration.test_terminals import open_terminal
from tests.integration.verifying import PLAIN_AGENT, ROOT, SDK_AGENT, Started

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.support.fork_server import ForkServer

pytestmark = needs_proc

CHANGED_TEXT = SAMPLE_TEXT.replace("world", "ACP")
SILENT = [sys.executable, "-IS", "-c", "import sys; sys.stdin.read()"]


class Trials:
    """Runs ``acp-proxy try`` in a directory with the sample file.

    Attributes:
        program: the installed program, for tests that cannot use a fork.
        work: the working directory.
        recording: the recording of the last trial.
    """

    def __init__(self, acp_proxy: Path, tmp_path: Path, server: ForkServer) -> None:
        self.program = str(acp_proxy)
        self._server = server
        self._mark = uuid.uuid4().hex
        self.work = tmp_path / "work"
        self.work.mkdir()
        (self.work / SAMPLE_NAME).write_text(SAMPLE_TEXT, encoding="utf-8")
        self.recording = tmp_path / "trial.db"

    def start(self, *words: str, agent: Sequence[str] = PLAIN_AGENT, **streams: int) -> Started:
        """Starts ``acp-proxy try``.

        Args:
            *words: options of ``try``.
            agent: the command of the agent.
            **streams: values as for `subprocess.Popen`; by default, no stdin and two files.
        """
        self.recording = self.recording.with_name(f"{uuid.uuid4().hex}.db")
        command = ["try", *words, "-o", str(self.recording), "--", *agent]
        outputs = [self.recording.with_suffix(f".{name}") for name in ("stdout", "stderr")]
        with outputs[0].open("wb") as out, outputs[1].open("wb") as err:
            usual = {"stdin": subprocess.DEVNULL, "stdout": out.fileno(), "stderr": err.fileno()}
            process = self._server.start(
                command, **{**usual, **streams}, env=self._environment(), cwd=self.work
            )
        return Started(process, outputs)

    def run(
        self, *words: str, agent: Sequence[str] = PLAIN_AGENT, **streams: int
    ) -> tuple[int, str]:
        """Runs ``acp-proxy try``; returns its exit code and its output."""
        started = self.start(*words, agent=agent, **streams)
        stdout, stderr = started.communicate()
        assert "Traceback" not in stderr, stderr
        assert started.returncode is not None
        return started.returncode, stdout

    def verify(self, *words: str, agent: Sequence[str]) -> subprocess.CompletedProcess[bytes]:
        """Runs ``acp-proxy verify`` with the given options and agent."""
        command = ["verify", *words, "--", *agent]
        return self._server.run(command, b"", env=self._environment(), cwd=self.work)

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ, MARK: self._mark, "PYTHONPATH": str(ROOT),
            "ACP_PROXY_RECORDINGS": str(self.recording.parent),
        }  # fmt: skip

    @property
    def text(self) -> str:
        """Returns the contents of the sample file."""
        return (self.work / SAMPLE_NAME).read_text(encoding="utf-8")

    def living(self) -> list[int]:
        """Returns the running processes that the trials have started."""
        return marked(self._mark)

    def findings(self) -> list[str]:
        """Returns the rules of all errors and warnings about the complete recording."""
        with RecordingReader(self.recording) as reader:
            assert reader.recording.state == "complete"
            summary = summarize_whole(reader, time.monotonic_ns())
        return [item.rule for item in summary.findings if item.severity != "info"]


@pytest.fixture
def trials(acp_proxy: Path, tmp_path: Path, fork_server: ForkServer) -> Iterator[Trials]:
    """Runs ``acp-proxy try``; fails if a process remains."""
    result = Trials(acp_proxy, tmp_path, fork_server)
    yield result
    wait_until(lambda: not result.living(), "no process to be left")


@pytest.mark.parametrize("agent", [PLAIN_AGENT, SDK_AGENT], ids=["plain", "sdk"])
def test_a_turn_is_printed_recorded_and_played_again(trials: Trials, agent: list[str]) -> None:
    """`try` prints and records a turn, and the recording passes `replay` and `verify`."""
    code, printed = trials.run("--prompt", "hello", agent=agent)
    assert code == 0
    assert "Hello! Grüße, café, 你好, 😀." in printed
    assert trials.findings() == []
    recorded, proxy = str(trials.recording), trials.program
    assert trials.run("--prompt", "hello", agent=[proxy, "replay", recorded])[0] == 0
    assert trials.verify(recorded, agent=agent).returncode == 0


def test_a_file_is_written_only_with_consent(trials: Trials) -> None:
    """`try` lets an agent write a file only with the option `--allow`, and refuses otherwise."""
    code, printed = trials.run("--prompt", "edit", "--reject")
    assert (code, trials.text) == (0, SAMPLE_TEXT)
    assert "denied (Reject)" in printed
    assert trials.run("--prompt", "edit")[0] == 0
    assert trials.text == SAMPLE_TEXT, "without a terminal nobody has allowed it"
    code, printed = trials.run("--prompt", "edit", "--allow")
    assert (code, trials.text) == (0, CHANGED_TEXT)
    assert "granted (Allow)" in printed
    assert trials.findings() == []


GREEDY = """
import json, sys

def ask(number, method, **params):
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    print(json.dumps(message), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    result = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}}.get(method)
    if result:
        print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
    elif method == "session/prompt":
        prompt, asked = number, 4
        work = sys.argv[1]
        ask(1, "fs/write_text_file", sessionId="s", path=f"{work}/made.txt", content="x")
        ask(2, "fs/write_text_file", sessionId="s", path=f"{work}/link", content="x")
        ask(3, "terminal/create", sessionId="s", command="touch", args=[f"{work}/ran.txt"])
        ask(4, "fs/read_text_file", sessionId="s", path=f"{work}/link")
    elif "error" in message or "result" in message:
        asked -= 1
        if not asked:
            end = {"jsonrpc": "2.0", "id": prompt, "result": {"stopReason": "end_turn"}}
            print(json.dumps(end), flush=True)
"""


TELLING = """
import json, sys

def update(**members):
    params = {"sessionId": "s", "update": members}
    print(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}), flush=True)

for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "session/prompt":
        for piece in (sys.argv[1][:9], sys.argv[1][9:] + "\\n"):
            content = {"type": "text", "text": piece}
            update(sessionUpdate="agent_message_chunk", content=content)
        title = f"login {sys.argv[1]}"
        update(sessionUpdate="tool_call", toolCallId="c", title=title, status="completed")
    results = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}}
    result = results.get(method, {"stopReason": "end_turn"})
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
"""


def test_secrets_are_masked_while_a_conversation_runs(trials: Trials) -> None:
    """`try` prints an agent's secret masked, even if the agent sends the secret in two pieces.

    With `--unredacted`, `try` prints the secret.
    """
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    agent = [sys.executable, "-IS", "-c", TELLING, secret]
    _, printed = trials.run("--prompt", "x", agent=agent)
    assert secret not in printed
    assert secret[10:] not in printed
    _, printed = trials.run("--prompt", "x", "--unredacted", agent=agent)
    assert secret in printed


@pytest.mark.parametrize("option", ["--reject", "", "--allow"])
def test_an_agent_that_does_not_ask_gets_nothing_done(
    trials: Trials, tmp_path: Path, option: str
) -> None:
    """Without `--allow`, `try` refuses the writes of an agent that does not ask for permission."""
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    (trials.work / "link").symlink_to(outside)
    words = ("--prompt", "go", *filter(None, [option]))
    trials.run(*words, agent=[sys.executable, "-IS", "-c", GREEDY, str(trials.work)])
    is_allowed = option == "--allow"
    assert (trials.work / "made.txt").exists() is is_allowed
    assert outside.read_text() == "secret"
    with RecordingReader(trials.recording) as reader:
        lines = b"".join(row["raw"] for row in reader.rows() if "raw" in row)
    assert b"secret" not in lines


def test_an_allowed_command_gives_its_output(trials: Trials) -> None:
    """In `try`, the agent gets the output of an allowed command."""
    assert trials.run("--prompt", "edit", "--prompt", "run", "--allow")[0] == 0
    with RecordingReader(trials.recording) as reader:
        assert len([*reader.query("SELECT * FROM turns")]) == 2
    assert trials.findings() == []


def test_a_removed_directory_is_wrong_use(trials: Trials) -> None:
    """If the working directory was removed, `try` exits with 2."""
    ended = subprocess.run(
        [trials.program, "try", "--prompt", "x", "--", *SILENT],
        cwd=trials.work,
        preexec_fn=lambda: shutil.rmtree(trials.work),
        capture_output=True,
        timeout=DEADLINE_S,
    )
    assert (ended.returncode, ended.stderr.count(b"\n")) == (2, 1)


def test_standard_input_is_the_prompt(trials: Trials) -> None:
    """If stdin is not a terminal, `try` sends all of it as one prompt."""
    typed = trials.work / "typed.txt"
    for text, ended in (("hello\n", 0), (" \n", 2)):
        typed.write_text(text)
        with typed.open("rb") as file:
            code, printed = trials.run(stdin=file.fileno())
        assert (code, "Grüße" in printed) == (ended, ended == 0)


@pytest.mark.parametrize("agent", [PLAIN_AGENT, SILENT], ids=["in-a-turn", "at-once"])
def test_an_agent_that_hangs_is_named(trials: Trials, agent: list[str]) -> None:
    """If an agent hangs, `try` exits with 3 and says that the agent hung."""
    code, printed = trials.run("--prompt", "slow", "--timeout", "1", agent=agent)
    assert code == 3
    assert "agent hung" in printed
    assert trials.findings()[:1] == ["wait.unanswered"]


def test_an_agent_that_dies_is_a_finding(trials: Trials) -> None:
    """If the agent exits before it answers, `try` exits with 1, and `show` reports the exit."""
    dying = [sys.executable, "-IS", "-c", "import sys; sys.stdin.readline(); sys.exit(7)"]
    assert trials.run("--prompt", "x", agent=dying)[0] == 1
    with RecordingReader(trials.recording) as reader:
        assert reader.recording.exit_code == 7
    assert trials.findings() == ["agent.ended"]


def test_the_last_words_of_an_agent_are_shown(trials: Trials) -> None:
    """If an agent writes to stderr after its input has ended, `try` shows the text."""
    agent = ["sh", "-c", f"{shlex.join(PLAIN_AGENT)}; echo last words >&2"]
    process = trials.start("--prompt", "hello", agent=agent)
    assert process.communicate()[1] == "last words\n"


def test_an_agent_that_cannot_start_gives_127(trials: Trials) -> None:
    """If an agent cannot start, `try` exits with 127."""
    assert trials.run("--prompt", "x", agent=["/no/such/agent"])[0] == 127


def test_ctrl_c_cancels_the_turn_and_then_ends(trials: Trials) -> None:
    """Ctrl-C in `try` cancels the running turn; before the first turn, `try` exits with 130."""
    process = trials.start("--prompt", "slow")
    wait_until(lambda: b"session/prompt" in _log(trials), "the prompt to be sent")
    process.send_signal(signal.SIGINT)
    printed, _ = process.communicate()
    assert process.returncode == 0
    assert "cancelled" in printed
    process = trials.start("--prompt", "x", agent=SILENT)
    wait_until(lambda: b"initialize" in _log(trials), "the handshake to begin")
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130


def _log(trials: Trials) -> bytes:
    path = trials.recording.with_name(f"{trials.recording.name}.log")
    return path.read_bytes() if path.exists() else b""


def test_an_interrupt_at_the_end_leaves_a_complete_recording(trials: Trials) -> None:
    """If Ctrl-C ends `try` while it waits for the agent's exit, the recording is complete."""
    stubborn = ["sh", "-c", f"{shlex.join(PLAIN_AGENT)}; touch ended; sleep 600"]
    process = trials.start("--prompt", "hello", agent=stubborn)
    wait_until((trials.work / "ended").exists, "the end to begin")
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    assert trials.findings() == []


def test_a_killed_trial_leaves_no_agent(trials: Trials) -> None:
    """If `try` is killed during a turn, its agent ends, and the prompt is in the recording."""
    process = trials.start("--prompt", "slow")
    wait_until(lambda: b"session/prompt" in _log(trials), "the prompt to be sent")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    wait_until(lambda: not trials.living(), "the agent to end")
    with RecordingReader(trials.recording) as reader:
        assert any(row.get("method") == "session/prompt" for row in reader.rows())


def test_on_a_terminal_prompts_are_typed_and_edits_are_shown(trials: Trials) -> None:
    """On a terminal, `try` reads prompts, shows each edit of a file, and asks before it writes."""
    with open_terminal() as terminal:
        with open(terminal.path, "rb+", buffering=0) as screen:  # noqa: PTH123
            fd = screen.fileno()
            process = trials.start(stdin=fd, stdout=fd, stderr=fd)
        terminal.expect(b"prompt>")
        terminal.type(b"edit\n")
        terminal.expect(b"+Hello, ACP!")
        terminal.expect(b"1 to 3, or nothing to cancel>")
        terminal.type(b"1\n")
        terminal.expect(b"wants to write")
        terminal.expect(b"1 to 2, or nothing to cancel>")
        terminal.type(b"1\n")
        terminal.expect(b"prompt>")
        assert trials.text == CHANGED_TEXT
        terminal.type(b"\x04")
        terminal.expect(b"Next:")
        process.communicate()


CURIOUS = """
import json, os, sys, time

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def update(**members):
    say(method="session/update", params={"sessionId": "s", "update": members})

options = [{"optionId": word, "name": word, "kind": word} for word in ("allow_once", "reject_once")]
call = {"title": "Bash", "status": "pending", "rawInput": {"command": "rm -r important"}}
prompt, answers = None, {}
for line in sys.stdin:
    message = json.loads(line)
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        say(id=number, result={"protocolVersion": 1})
    elif method == "session/new":
        say(id=number, result={"sessionId": "s"})
    elif method == "session/prompt":
        prompt, answers = number, {}
        for name in ("first", "second"):
            update(sessionUpdate="tool_call", toolCallId=name, **call)
            asked = {"sessionId": "s", "toolCall": {"toolCallId": name}, "options": options}
            say(id=name, method="session/request_permission", params=asked)
            while not os.path.exists("shown"):
                time.sleep(0.01)
            update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": name})
    elif method is None:
        answers[number] = message["result"]["outcome"]
        if len(answers) == 2:
            text = {"type": "text", "text": json.dumps(answers)}
            update(sessionUpdate="agent_message_chunk", content=text)
            reasons = {"cancelled": "cancelled", "selected": "end_turn"}
            say(id=prompt, result={"stopReason": reasons[answers["second"]["outcome"]]})
"""


def test_questions_on_a_terminal_are_whole_and_come_one_by_one(trials: Trials) -> None:
    """On a terminal, `try` asks one question at a time, and prints nothing until it is answered."""
    with open_terminal() as terminal:
        with open(terminal.path, "rb+", buffering=0) as screen:  # noqa: PTH123
            fd = screen.fileno()
            agent = [sys.executable, "-IS", "-c", CURIOUS]
            process = trials.start(agent=agent, stdin=fd, stdout=fd, stderr=fd)
        terminal.expect(b"prompt>")
        terminal.type(b"go\n1\n1\n")  # the answers are typed too early to count
        terminal.expect(b"command: rm -r important")
        terminal.expect(b"nothing to cancel> ")
        (trials.work / "shown").touch()
        wait_until(lambda: b'"text": "second"' in _log(trials), "the agent to go on")
        terminal.type(b"2\n")
        terminal.expect(b"2\r\n")
        terminal.expect(b"  first")
        terminal.expect(b"nothing to cancel> ")
        terminal.type(b"1\n")
        terminal.expect(b'"first": {"outcome": "selected", "optionId": "reject_once"}')
        terminal.expect(b'"optionId": "allow_once"}')
        terminal.expect(b"prompt>")
        terminal.type(b"go\n")
        terminal.expect(b"nothing to cancel> ")
        process.send_signal(signal.SIGINT)
        terminal.expect(b"End of the turn")
        terminal.expect(b"prompt>")
        terminal.type(b"\x04")
        process.communicate()


@pytest.mark.slow
def test_an_agent_on_the_typescript_sdk(
    trials: Trials, npm_packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an agent on the TypeScript SDK, `try` prints what its recording contains."""
    monkeypatch.setenv("ACP_SDK_DIR", str(npm_packages / "@agentclientprotocol/sdk"))
    agent = ["node", str(ROOT / "tests" / "agents" / "ts_agent.mjs")]
    words = ["--prompt", "hello", "--prompt", "edit"]
    for option, text in (("--reject", SAMPLE_TEXT), ("--allow", CHANGED_TEXT)):
        code, printed = trials.run(*words, option, agent=agent)
        assert (code, trials.text, trials.findings()) == (0, text, [])
        assert "Grüße, 你好, 😀." in printed
    proxy, recorded = trials.program, str(trials.recording)
    (trials.work / SAMPLE_NAME).write_text(SAMPLE_TEXT, encoding="utf-8")
    verified = trials.verify("--cwd", str(trials.work), recorded, agent=agent)
    assert verified.returncode == 0, verified.stdout
    assert trials.run(*words, "--allow", agent=[proxy, "replay", recorded])[0] == 0
    process = trials.start("--prompt", "slow", "--prompt", "hello", agent=agent)
    wait_until(lambda: "Slow…".encode() in _log(trials), "the turn to begin")
    process.send_signal(signal.SIGINT)
    assert "Grüße" in process.communicate()[0]
    assert (process.returncode, trials.findings()) == (0, [])
