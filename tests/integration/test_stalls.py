"""Tests what happens at a stall: `record --on-stall` and `log --follow --until`."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from tests.integration.processes import DEADLINE_S, living, processes, shell, wait_until
from tests.integration.puppet_talk import environment_in, start, watch

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.integration.processes import Recorder, Talk
    from tests.support.fork_server import ForkServer

SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAaB3d"
PROMPT = (
    '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":'
    f'[{{"type":"text","text":"use {SECRET}"}}]}}}}\n'
).encode()
CHUNK = (
    '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hm"}}}}'
)
HANG = shell('read prompt; read go; echo "$1"; while read line; do :; done', CHUNK)
"""An agent that never answers a prompt; after the next line it says one word."""
TELL = 'cat >>"$1/told"; echo $$ >"$1/new"; mv "$1/new" "$1/pid"'
SENTENCE = re.compile(r'agent silent (<1|[0-9]+) s, prompt #2 open: "use \[redacted:token:\w+\]"\n')


def told(place: Path) -> list[str]:
    """Returns the lines that the command of `--on-stall` has received."""
    path = place / "told"
    return path.read_text().splitlines(keepends=True) if path.exists() else []


def ringing(record: Recorder, place: Path) -> tuple[Talk, int]:
    """Records a stall; returns the conversation, and the command's process group."""
    command = shlex.join(shell(f"{TELL}; sleep 1000 & sleep 1000", str(place)))
    conversation = record(HANG, "--stall", "0.3", "--on-stall", command)
    conversation.write(PROMPT)
    wait_until((place / "pid").exists, "the command to run")
    pid = int((place / "pid").read_text())
    group = next(process.group for process in processes() if process.pid == pid)
    assert group != conversation.agent_group()
    return conversation, group


def test_the_command_runs_once_for_each_silence(record: Recorder, tmp_path: Path) -> None:
    """If an agent is silent twice, the command of `record --on-stall` runs twice."""
    conversation, group = ringing(record, tmp_path)
    conversation.write(b"go\n")
    conversation.expect(f"{CHUNK}\n".encode())
    wait_until(lambda: len(told(tmp_path)) > 1, "the command to run for the second silence")
    assert conversation.exchange() == f"{CHUNK}\n".encode()
    assert conversation.wait() == 0
    assert len(told(tmp_path)) == 2
    assert all(SENTENCE.fullmatch(line) for line in told(tmp_path))
    assert conversation.stderr == b""
    assert not living(group), "the command ends with the recorder"
    assert [entry.name for entry in tmp_path.glob("talk*")] == ["talk-1.db"]


def test_the_command_is_killed_with_the_recorder(record: Recorder, tmp_path: Path) -> None:
    """If a recorder is killed, the running command of `record --on-stall` is killed too."""
    conversation, group = ringing(record, tmp_path)
    conversation.process.kill()
    conversation.wait()
    wait_until(lambda: not living(group), "the command to be gone")


def test_no_variable_sets_the_command(record: Recorder, tmp_path: Path) -> None:
    """No environment variable sets the command that `record --on-stall` runs."""
    names = ("ON_STALL", "RECORD_ON_STALL")
    env = {f"ACP_PROXY_{name}": f"touch {tmp_path}/told" for name in names}
    env |= {"ACP_PROXY_STALL": "0.1", "ACP_PROXY_RECORD_STALL": "0.1"}
    conversation = record(HANG, env=env)
    conversation.write(PROMPT, b"go\n")
    conversation.expect(f"{CHUNK}\n".encode())
    conversation.wait_for_rows("select 1 from frames")
    conversation.exchange()
    assert conversation.wait() == 0
    assert told(tmp_path) == []


def followed(
    server: ForkServer, conversation: Talk, until: list[str], act: Callable[[], object]
) -> tuple[int, str]:
    """Runs `log --follow --until` while an action happens; returns exit code and stderr."""
    path = conversation.recording.path
    words = ["log", "--follow", *(word for item in until for word in ("--until", item)), str(path)]
    process, stdin, stdout, stderr = start(
        server, words, home=path.parent, env=environment_in(path.parent)
    )
    stdin.close()
    timer = watch(process)
    try:
        assert b"start" in stdout.readline()
        act()
        stdout.read()
        return process.wait(DEADLINE_S), stderr.read().decode()
    finally:
        timer.cancel()
        stdout.close()
        stderr.close()


def test_following_ends_at_a_silence(record: Recorder, fork_server: ForkServer) -> None:
    """With `--until stall`, `log --follow` exits with 3 at a stall, but the recorder continues."""
    conversation = record(HANG)
    conversation.write(PROMPT)
    conversation.wait_for_rows("select 1 from frames")
    code, said = followed(fork_server, conversation, ["end", "stall:0.3s"], lambda: None)
    assert code == 3
    assert SENTENCE.fullmatch(said.removeprefix("acp-proxy: "))
    conversation.exchange()
    assert conversation.wait() == 0


def test_following_ends_at_a_problem(record: Recorder, fork_server: ForkServer) -> None:
    """`log --follow --until problem` exits with 1 at the first finding, and prints the finding."""
    conversation = record(shell("read line; echo Loading the model; read line"))
    conversation.write(b"\n")
    conversation.expect(b"Loading the model\n")
    code, said = followed(fork_server, conversation, ["problem", "stall:60"], lambda: None)
    assert code == 1
    assert said.startswith("acp-proxy: frame.not-json by the agent: #")
    conversation.exchange()


@pytest.mark.parametrize("until", [["end"], ["stall:60s"], ["end", "stall:60s"]])
def test_following_ends_with_the_recording(
    record: Recorder, fork_server: ForkServer, until: list[str]
) -> None:
    """If a recording ends before the condition of `--until` is met, `log --follow` exits with 0."""
    conversation = record(shell("read line; read line"))
    conversation.write(b'{"jsonrpc":"2.0","method":"_note"}\n')
    conversation.wait_for_rows("select 1 from frames")
    code, said = followed(fork_server, conversation, until, conversation.exchange)
    assert (code, said) == (
        0,
        f"acp-proxy: the recording has ended: {conversation.recording.path}\n",
    )
