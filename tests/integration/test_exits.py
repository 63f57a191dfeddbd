"""A recorder ends as its agent ends or fails to start, and records the ending."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.integration.processes import READABLE_PATH, Gate, shell

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.processes import Recorder

PROMPT = b'{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s"}}\n'
KEY = "sk-ant-api03-aaaZx9Qw3Rt7Yp1Zx9Qw3Rt7Yp1Zx9Qw3Rt7Yp1"
QUESTION = b'{"jsonrpc":"2.0","id":7,"method":"fs/read_text_file","params":{"sessionId":"s"}}\n'


@pytest.mark.parametrize("code", [0, 255])
def test_the_agents_exit_code_is_returned(record: Recorder, code: int) -> None:
    """A recorder exits with the exit code of its agent."""
    conversation = record(shell('exit "$1"', str(code)))
    assert conversation.wait() == code
    assert (
        conversation.recording.field("exit_code"),
        conversation.recording.field("exit_signal"),
    ) == (code, None)
    assert conversation.recording.events("exit") == [{"code": code}]


@pytest.mark.parametrize("name", ["SEGV", "INT", "PIPE"])
def test_a_signal_that_kills_the_agent_is_returned(record: Recorder, name: str) -> None:
    """A recorder ends by the signal that killed its agent."""
    signum = signal.Signals[f"SIG{name}"]
    conversation = record(
        shell('ulimit -c 0; read line; echo "$1"; kill -s $2 $$', QUESTION[:-1].decode(), name)
    )
    conversation.write(PROMPT)
    assert conversation.read_all() == QUESTION
    assert conversation.wait() == -signum
    assert (
        conversation.recording.field("exit_code"),
        conversation.recording.field("exit_signal"),
    ) == (
        None,
        signum,
    )
    assert conversation.recording.rows(
        "select direction, method, rpc_id, outcome, response_seq from exchanges order by id"
    ) == [
        ("to-agent", "session/prompt", "7", "unanswered", None),
        ("to-client", "fs/read_text_file", "7", "unanswered", None),
    ]
    assert conversation.recording.sent_signals() == []


@pytest.mark.parametrize("options", [(), ("--check",)])
def test_a_signal_is_returned_after_indexing(
    record: Recorder, tmp_path: Path, options: tuple[str, ...]
) -> None:
    """If a signal kills an agent whose frames are indexed, the recorder ends by the same signal."""
    gate = Gate(tmp_path / "gate")
    conversation = record(shell('read line; read go <"$1"; kill -s TERM $$', gate.path), *options)
    conversation.write(PROMPT)
    conversation.wait_for_rows("select 1 from exchanges")
    gate.open()
    assert conversation.wait() == -signal.SIGTERM
    assert conversation.recording.field("exit_signal") == signal.SIGTERM
    assert conversation.recording.rows("select outcome from exchanges") == [("unanswered",)]


@pytest.mark.skipif(shutil.which("node") is None, reason="expected node on the PATH")
def test_a_client_on_node_sees_the_signal(acp_proxy: Path, tmp_path: Path) -> None:
    """A client on Node that kills its agent sees the same signal as without a recorder."""
    client = """
        const [program, ...words] = process.argv.slice(1);
        const agent = require("node:child_process").spawn(program, words);
        agent.stdout.once("data", () => agent.kill());
        agent.on("exit", (code, signal) => console.log(code, signal));
    """
    agent = shell("echo ready; exec sleep 1000")
    recorder = [str(acp_proxy), "record", "-o", str(tmp_path / "x.db"), "--"]
    for command in (agent, [*recorder, *agent]):
        result = subprocess.run(
            ["node", "-e", client, *command], capture_output=True, text=True, check=True
        )
        assert result.stdout == "null SIGTERM\n"


def test_the_first_process_of_a_container_exits_with_a_code(record: Recorder) -> None:
    """As process 1 of a container, a recorder exits with 128 plus the agent's signal."""
    container = ["unshare", "--pid", "--fork"]
    if subprocess.run([*container, "true"], capture_output=True, check=False).returncode:
        pytest.skip("expected to be allowed to make a namespace of processes")
    conversation = record(shell("kill -s TERM $$"), wrapper=container)
    assert conversation.wait() == 128 + signal.SIGTERM
    assert conversation.recording.field("exit_signal") == signal.SIGTERM


def test_no_core_is_written_of_the_proxy(tmp_path: Path) -> None:
    """If a recorder ends by its agent's signal, the recorder writes no core file."""
    _, most = resource.getrlimit(resource.RLIMIT_CORE)
    script = (
        "import resource; from acp_proxy.record.capture.in_place import die_of;"
        f"resource.setrlimit(resource.RLIMIT_CORE, ({most}, {most})); die_of({signal.SIGSEGV})"
    )
    pid = os.posix_spawn(
        "/bin/sh", ["sh", "-c", 'cd "$1" && exec "$2" -c "$3"', "sh", str(tmp_path), sys.executable,
                    script], os.environ)  # fmt: skip
    _, status = os.waitpid(pid, 0)
    assert (os.WTERMSIG(status), os.WCOREDUMP(status)) == (signal.SIGSEGV, False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "mode", "content", "code", "complaint"),
    [
        ("missing", None, "", 127, "No such file or directory; check the path"),
        ("plain", 0o644, "#!/bin/sh\n", 126, "Permission denied; is it executable?"),
        ("orphan", 0o755, "#!/no/such/interpreter\n", 127,
         "No such file or directory; the interpreter of its first line was not found"),
        ("nothing", 0o755, "\x7fELF", 126, "Exec format error"),
    ],
)  # fmt: skip
def test_an_agent_that_cannot_start(
    record: Recorder,
    tmp_path: Path,
    name: str,
    mode: int | None,
    content: str,
    code: int,
    complaint: str,
) -> None:
    """If an agent cannot start, `record` exits with 127 for a missing file, and else with 126."""
    program = tmp_path / name
    if mode is not None:
        program.write_text(content)
        program.chmod(mode)
    conversation = record([str(program)])
    assert conversation.read_all() == b""
    assert conversation.wait() == code
    reason = f"cannot start the agent {str(program)!r}: {complaint}"
    assert conversation.stderr.decode() == f"acp-proxy: {reason}\n"
    shown = record.inspect("show", conversation.recording.path)
    assert f"exit {code}, {reason}" in shown
    assert conversation.recording.field("exit_code") == code
    assert conversation.recording.rows("select count(*) from frames") == [(0,)]


@pytest.mark.parametrize("is_recorded", [True, False])
@pytest.mark.parametrize(
    ("program", "shown"),
    [
        (f"/opt/{KEY}/agent", "/opt/[redacted:key:"),
        ("GITHUB_TOKEN=plum-rhubarb-771", "GITHUB_TOKEN=[redacted:token:"),
    ],
)
def test_a_secret_in_the_name_of_the_program_is_masked(
    record: Recorder, program: str, shown: str, is_recorded: bool
) -> None:
    """If `record` cannot start an agent, its error masks a secret in the agent's path."""
    off = {} if is_recorded else {"ACP_PROXY_OFF": "1"}
    conversation = record([program], env={**READABLE_PATH, **off})
    assert conversation.wait() == 127
    told = conversation.stderr.decode()
    assert f"cannot start the agent '{shown}" in told
    assert KEY not in told
    assert "plum" not in told


def test_an_agent_that_is_not_on_the_path(record: Recorder) -> None:
    """If an agent is not in PATH, `record` exits with 127."""
    conversation = record(["no-such-agent"], env=READABLE_PATH)
    assert conversation.wait() == 127
    assert conversation.stderr.endswith(
        b"'no-such-agent': No such file or directory; give its absolute path\n"
    )
    assert conversation.stderr.count(b"\n") == 1
