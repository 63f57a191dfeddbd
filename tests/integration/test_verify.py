"""Tests `acp-proxy verify` with real agents, changed and unchanged."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.drivers.sweep import agent_command
from acp_proxy.playback.verify import stream_progress
from acp_proxy.store.files.newest import is_run
from acp_proxy.store.reader import RecordingReader
from tests.agents.make_recordings import RECORDINGS
from tests.integration.processes import (
    needs_proc,
    plain_signals,
    shell,
    wait_until,
)
from tests.integration.verifying import (
    CHANGED_AGENT,
    PLAIN_AGENT,
    ROOT,
    SDK_AGENT,
    UNRULY_AGENT,
    Verifier,
)
from tests.support.example_checker import text_form_of
from tests.support.indexed_rows import stream_bytes
from tests.support.playbook import record
from tests.support.reactive_client import record_capture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.fork_server import ForkServer

pytestmark = needs_proc


@pytest.fixture
def verify(acp_proxy: Path, tmp_path: Path, fork_server: ForkServer) -> Iterator[Verifier]:
    """Runs `acp-proxy verify`, and checks that no process remains."""
    verifier = Verifier(acp_proxy, tmp_path, fork_server)
    yield verifier
    for pid in verifier.living():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("name", RECORDINGS)
def test_an_unchanged_agent_passes(verify: Verifier, name: str) -> None:
    """If the agent is unchanged, `verify` exits with 0 and prints only one line."""
    if name == "tour":
        verify.server = None
        result = verify(name, SDK_AGENT)
    else:
        result = verify.here(name, PLAIN_AGENT)
    assert (result.code, result.stdout) == (0, ""), result.stdout + result.stderr
    (new,) = verify.home.glob("*.db")
    with RecordingReader(new) as reader:
        assert reader.recording.state == "complete"
        assert reader.recording.exit_code == 0
    frames = result.report["conversation"]["frames_sent"]
    assert frames > 2
    line = result.stderr.splitlines()[-1]
    assert line.startswith("acp-proxy: the agent did what was recorded: 1 turn, ")
    assert line.endswith(f"; recorded as {new}")
    assert (result.report["verdict"], result.report["differences"]["changed"]) == ("clean", 0)
    assert ET.fromstring(result.junit).get("failures") == "0"


def test_a_replayed_agent_passes(verify: Verifier, acp_proxy: Path, tmp_path: Path) -> None:
    """A replay of a recording passes `verify` with the same recording."""
    captures = ROOT / "tests" / "data" / "captures"
    path = record_capture(captures / "gemini-0.61.0" / "twosessions.jsonl", tmp_path)
    result = verify.here(path, [str(acp_proxy), "replay", str(path)])
    assert (result.code, result.stdout) == (0, "")


def test_another_run_of_the_same_agent_is_equal(verify: Verifier, acp_proxy: Path) -> None:
    """`verify` ignores differences between the ids of two runs."""
    pairs = ROOT / "tests" / "data" / "pairs"
    agent = [str(acp_proxy), "replay", str(pairs / "vibe-sessions.b.jsonl"), "--rewrite-text"]
    agent += ["--ignore", "/params/prompt/0/text"]
    result = verify.here(pairs / "vibe-sessions.a.jsonl", agent)
    assert (result.code, result.stdout) == (0, "")


@pytest.mark.parametrize(
    ("change", "name", "expected", "shown"),
    [
        (
            "stop-reason",
            "hello",
            ("changed the answer to session/prompt", "/result/stopReason"),
            '"end_turn" → "max_tokens"',
        ),
        (
            "tool",
            "edit-allowed",
            ("changed session/update tool_call", "/params/update/title"),
            '"Edit greeting.txt" → "Patch greeting.txt"',
        ),
    ],
)
def test_one_change_is_named_and_nothing_else(
    verify: Verifier, change: str, name: str, expected: tuple[str, str], shown: str
) -> None:
    """If one title or stop reason of the agent has changed, `verify` shows only this change."""
    result = verify.here(name, [*CHANGED_AGENT, change])
    assert result.code == 1
    assert result.differences == [expected]
    assert result.kinds == []
    assert "1 difference" in result.stdout
    assert expected[1] in result.stdout
    assert shown in result.stdout
    assert result.report["verdict"] == "differs"
    assert ET.fromstring(result.junit).get("failures") == "1"


@pytest.mark.parametrize(("options", "code"), [((), 0), (("--check",), 1)])
def test_a_broken_rule_is_a_failure_if_it_is_asked_for(
    verify: Verifier, tmp_path: Path, options: tuple[str, ...], code: int
) -> None:
    """`verify` exits with 1 because of a broken rule of the protocol only if `--check` is given."""
    answer = '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{}}}'
    path = tmp_path / "talk.jsonl"
    lines = ['-> #0 initialize {"protocolVersion": 1}', f"<- {answer}", "<- | a log line"]
    path.write_bytes(b"".join(text_form_of([*lines, "== client leaves"])))
    actual = verify.here(path, shell(f"read line; echo '{answer}'; echo a log line"), *options)
    assert actual.code == code
    assert "✗ frame.not-json by the agent: #" in actual.stdout
    assert actual.report["is_checked"] == bool(options)
    if not options:
        assert actual.report["verdict"] == "clean"
        return
    assert actual.report["verdict"] == "broken-rules"
    assert "the agent broke rules of the protocol: " in actual.stderr
    assert {item["rule"] for item in actual.report["check"]["findings"]} >= {"frame.not-json"}
    failed = [case for case in ET.fromstring(actual.junit) if case.find("failure") is not None]
    assert [case.get("name") for case in failed] == ["rules"]


@pytest.mark.parametrize(
    ("change", "name", "expect", "pointers"),
    [
        ("capability", "hello", "outcome", ["/result/agentCapabilities/promptCapabilities"]),
        ("tool", "edit-allowed", "outcome", []),
    ],
)
def test_expect_limits_what_is_compared(
    verify: Verifier, change: str, name: str, expect: str, pointers: list[str]
) -> None:
    """With `--expect`, `verify` reports only the chosen kinds of differences."""
    result = verify.here(name, [*CHANGED_AGENT, change], "--expect", expect)
    assert result.code == (1 if pointers else 0), result.stdout
    assert [pointer for _, pointer in result.differences] == pointers


def test_renamed_permission_options_are_chosen(verify: Verifier) -> None:
    """If permission options have new names, `verify` still chooses the recorded kind of option."""
    result = verify.here("edit-allowed", [*CHANGED_AGENT, "options"])
    assert result.code == 1
    assert {title for title, _ in result.differences} == {"changed session/request_permission"}
    result = verify.here(
        "edit-allowed", [*CHANGED_AGENT, "options"], "--ignore=/params/options/*/optionId"
    )
    assert result.code == 0, result.stdout


def test_concurrent_work_may_come_in_any_order(verify: Verifier, tmp_path: Path) -> None:
    """With the rule `apart = ["tool_call_update"]`, `verify` accepts these updates in any order."""
    result = verify.here("edit-allowed", [*CHANGED_AGENT, "late"])
    assert (result.code, result.differences) == (1, [("moved session/update tool_call_update", "")])
    assert "to ignore these differences: `acp-proxy diff --learn " in result.stderr
    rules = tmp_path / "rules.toml"
    rules.write_text('apart = ["tool_call_update"]', encoding="utf-8")
    result = verify.here("edit-allowed", [*CHANGED_AGENT, "late"], f"--rules={rules}")
    assert result.code == 0, result.stdout


QUICK = ("--expect=outcome", "--ignore=/result/agentCapabilities", "--grace=0.2")
"""Options that ignore the usual differences of the unruly agent, with a short grace time."""


@pytest.mark.parametrize(
    ("way", "code", "kinds"),
    [
        ("hang", 3, ["stall"]),
        ("deaf", 3, ["stall", "unplayed"]),
        ("die", 1, ["agent-left"]),
        ("twice", 1, ["answered-twice"]),
        ("unknown", 1, ["unknown-reply-id"]),
        ("stay", 1, []),
        ("pleading", 1, ["permission-differs"]),
    ],
)
def test_every_agent_comes_to_an_end(
    verify: Verifier, way: str, code: int, kinds: list[str]
) -> None:
    """If an agent hangs, dies or does not read, `verify` ends and leaves no process."""
    limit = ["--stall-timeout=1"] if way in ("hang", "deaf") else []
    result = verify("hello", [*UNRULY_AGENT, way], *QUICK, *limit)
    assert (result.code, result.kinds) == (code, kinds), result.stdout + result.stderr


def test_a_flood_comes_to_an_end(verify: Verifier, monkeypatch: pytest.MonkeyPatch) -> None:
    """If an agent floods its output, `verify` ends and leaves no process."""
    monkeypatch.setattr(stream_progress, "_FLOOD_LINES", stream_progress._FLOOD_LINES // 10)
    result = verify.here("hello", [*UNRULY_AGENT, "flood"], *QUICK)
    assert (result.code, result.kinds) == (1, ["flood"]), result.stdout + result.stderr
    assert result.report["conversation"]["lines_received"] > 10_000


def test_an_endless_agent_is_ended(verify: Verifier) -> None:
    """If an agent never stops writing, `verify` ends it after `--timeout` and reports a stall."""
    result = verify("hello", [*UNRULY_AGENT, "drip"], *QUICK, "--timeout=2")
    assert (result.code, result.kinds) == (3, ["stall"]), result.stderr
    assert "the run was not over after 2 s, the limit of --timeout" in result.stdout
    assert result.report["verdict"] == "stalled"
    assert "the limit of --timeout" in result.junit


def test_lines_that_are_not_json_are_differences(verify: Verifier) -> None:
    """If an agent prints lines that are not JSON, `verify` reports differences and exits with 1."""
    result = verify.here("hello", [*UNRULY_AGENT, "garbage"], *QUICK)
    assert (result.code, result.kinds) == (0, [])
    result = verify.here("hello", [*UNRULY_AGENT, "garbage"])
    assert result.code == 1
    assert "not JSON" in result.stdout


@pytest.mark.parametrize(
    ("way", "verdict", "code"), [("garbage", "clean", 2), ("twice", "differs", 1)]
)
def test_an_unwritable_report_is_reported_last(
    verify: Verifier, tmp_path: Path, way: str, verdict: str, code: int
) -> None:
    """If `verify` cannot write a report file, the last line of its output says so."""
    full = verify.junit = Path("/dev/full")
    process = verify.start("hello", [*UNRULY_AGENT, way], *QUICK)
    _, stderr = process.communicate()
    assert process.returncode == code
    *_, last, complaint = stderr.splitlines()
    assert "what was recorded: " in last
    assert complaint == f"acp-proxy: cannot write {full}: no space left on device"
    assert json.loads((tmp_path / "report.json").read_text())["verdict"] == verdict


def test_no_code_of_the_current_directory_is_run(verify: Verifier, tmp_path: Path) -> None:
    """`verify` runs no code of the current directory, even if a file has a module's name."""
    _lay_decoys(tmp_path)
    verify.server = None
    result = verify("hello", [*UNRULY_AGENT, "garbage"], *QUICK)
    assert result.code == 0, result.stderr


def test_a_sweep_runs_no_code_of_the_current_directory(tmp_path: Path) -> None:
    """`faults sweep` runs no code of the current directory."""
    _lay_decoys(tmp_path)
    report = tmp_path / "report.json"
    command = agent_command(ROOT / "recordings" / "hello.db", "", report, ())
    subprocess.run(command, cwd=tmp_path, stdin=subprocess.DEVNULL, check=False)
    assert report.exists()


def _lay_decoys(directory: Path) -> None:
    (directory / "acp_proxy").mkdir()
    for name in ("acp_proxy/__init__.py", "click.py"):
        (directory / name).write_text("raise SystemExit('a decoy')")


def test_nothing_is_read_from_the_disk(verify: Verifier, tmp_path: Path) -> None:
    """If an agent asks for a file, `verify` does not read it from the disk."""
    canary = tmp_path / "canary"
    canary.write_text("tweet tweet")
    result = verify("hello", [*UNRULY_AGENT, "curious", str(canary)], *QUICK)
    assert (result.code, result.kinds) == (1, ["unmatched"])
    (new,) = verify.home.glob("*.db")
    assert b"tweet" not in new.read_bytes()


@pytest.mark.parametrize("way", ["busy", "eager"])
def test_nothing_is_run_and_nothing_is_written(verify: Verifier, tmp_path: Path, way: str) -> None:
    """Whatever an agent asks for, `verify` runs no command and writes no file."""
    canary = tmp_path / "canary"
    result = verify("hello", [*UNRULY_AGENT, way, str(canary)], *QUICK)
    assert (result.code, result.kinds) == (1, ["unmatched"])
    assert not canary.exists()


@pytest.mark.parametrize(
    ("signum", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGKILL, -9)],
)
@pytest.mark.parametrize("way", ["hang", "stay"])
def test_stopping_verify_stops_the_agent(
    verify: Verifier, signum: signal.Signals, code: int, way: str
) -> None:
    """However `verify` is stopped, no process of the agent remains."""
    grace = "--grace=5" if way == "stay" else "--grace=1"
    with plain_signals():
        process = verify.start("hello", [*UNRULY_AGENT, way], *QUICK, grace)
    unruly = "\0".join([*UNRULY_AGENT, way, ""]).encode()

    def is_there() -> bool:
        return any(_command(pid) == unruly for pid in verify.living())

    wait_until(is_there, "the agent to run")
    process.send_signal(signum)
    _, stderr = process.communicate()
    assert process.returncode == code, stderr
    assert "Traceback" not in stderr
    verify.expect_nothing_left()
    assert signum == signal.SIGKILL or not list(verify.scratch.iterdir())


def test_an_ignored_signal_does_not_stop_verify(verify: Verifier) -> None:
    """If a signal was ignored when `verify` started, the signal does not stop `verify`."""
    verify.server = None
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = verify.start("hello", [*UNRULY_AGENT, "hang"], *QUICK)
    finally:
        signal.signal(signal.SIGHUP, before)
    unruly = "\0".join([*UNRULY_AGENT, "hang", ""]).encode()
    wait_until(lambda: any(_command(pid) == unruly for pid in verify.living()), "the agent to run")
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    _, stderr = process.communicate()
    assert process.returncode == 143, stderr
    verify.expect_nothing_left()


def test_a_second_signal_kills_the_agent(verify: Verifier) -> None:
    """A second SIGINT to `verify` kills the agent."""
    with plain_signals():
        process = verify.start("hello", [*UNRULY_AGENT, "stubborn"], "--grace=3000")
    log = verify.home

    def is_stubborn() -> bool:
        return any(b"_demo/stubborn" in path.read_bytes() for path in log.glob("*.log"))

    def is_told() -> bool:
        return any(b"passed on" in path.read_bytes() for path in log.glob("*.log"))

    wait_until(is_stubborn, "the agent to be stubborn")
    process.send_signal(signal.SIGINT)
    wait_until(is_told, "the agent to be told to stop")
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert process.returncode == 130
    verify.expect_nothing_left()


def _command(pid: int) -> bytes:
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:  # noqa: PTH123
            return file.read()
    except OSError:
        return b""


def test_an_agent_works_in_a_fresh_directory(verify: Verifier) -> None:
    """`verify` runs the agent in a temporary directory with the name of the recorded directory."""
    result = verify("edit-allowed", PLAIN_AGENT)
    assert result.code == 0
    (old, new), *_ = result.report["conversation"]["bindings"].items()
    assert old == "/tmp/acp-proxy-demo"
    assert new.startswith(str(verify.scratch))
    assert new.endswith("/acp-proxy-demo")
    assert not list(verify.scratch.iterdir())


def test_an_agent_works_in_a_given_directory(verify: Verifier, tmp_path: Path) -> None:
    """With `--cwd`, `verify` runs the agent in the given directory."""
    work = tmp_path / "work"
    work.mkdir()
    result = verify("edit-allowed", PLAIN_AGENT, "--cwd", str(work))
    assert result.code == 0, result.stdout
    assert result.report["conversation"]["bindings"]["/tmp/acp-proxy-demo"] == str(work)
    assert work.is_dir()


def test_settings_of_record_do_not_affect_verify(verify: Verifier) -> None:
    """Environment variables for `record` do not affect `verify`."""
    result = verify(
        "hello",
        PLAIN_AGENT,
        ACP_PROXY_OFF="1",
        ACP_PROXY_FAULT="garbage",
        ACP_PROXY_MAX_SIZE="1",
        ACP_PROXY_NAME="x",
    )
    assert result.code == 0, result.stderr


def test_the_new_run_says_what_made_it(verify: Verifier) -> None:
    """A recording that `verify` makes is marked as a run of `verify`."""
    nested = [sys.executable, "-m", "acp_proxy", "record", "--", *PLAIN_AGENT]
    result = verify("hello", nested)
    outer = Path(result.report["recorded_as"])
    inner = next(path for path in outer.parent.glob("*.db") if path != outer)
    assert (is_run(outer), is_run(inner)) == (True, False)


def test_an_existing_file_is_not_touched(verify: Verifier, tmp_path: Path) -> None:
    """If the output file of `verify` exists, `verify` keeps it and records into NAME-2."""
    taken = tmp_path / "new.db"
    taken.write_text("mine")
    result = verify("hello", PLAIN_AGENT, "-o", str(taken))
    assert result.code == 0
    assert taken.read_text() == "mine"
    assert result.report["recorded_as"] == str(tmp_path / "new-2.db")
    assert (tmp_path / "new-2.db").exists()


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (["no-such-agent"], "cannot start the agent 'no-such-agent'"),
        (["/"], "cannot start the agent '/'"),
    ],
)
def test_an_agent_that_cannot_start_is_wrong_use(
    verify: Verifier, agent: list[str], words: str
) -> None:
    """If the agent cannot start, `verify` exits with 2 and leaves no recording."""
    result = verify("hello", agent)
    assert (result.code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert words in line
    assert not list(verify.home.iterdir())


def test_a_new_run_that_cannot_be_recorded_is_an_error(verify: Verifier, tmp_path: Path) -> None:
    """If `verify` cannot create the file of its new run, it exits with 2 without a traceback."""
    (tmp_path / "file").write_text("")
    result = verify("hello", PLAIN_AGENT, "-o", str(tmp_path / "file" / "new.db"))
    assert result.code == 2
    assert "Traceback" not in result.stderr


def test_an_incomplete_recording_is_reported(verify: Verifier, tmp_path: Path) -> None:
    """If the recording is incomplete, `verify` exits with 3, and its verdict is `incomplete`."""
    with RecordingReader(_incomplete(tmp_path)) as reader:
        assert reader.recording.state == "incomplete"
    agent = shell('read a; printf \'{"jsonrpc": "2.0", "id": 0, "result": {}}\\n\'; cat >/dev/null')
    actual = verify(tmp_path / "incomplete.db", agent, "--stall-timeout=5")
    assert (actual.code, actual.report["verdict"]) == (3, "incomplete"), actual.stdout


def _incomplete(directory: Path) -> Path:
    from tests.support.log_writer import LogWriter
    from tests.support.playbook import wire

    path = directory / "incomplete.db"
    with LogWriter(path) as recorder:
        recorder.chunk(1, wire("#0 initialize {}"))
        recorder.chunk(2, wire("#0 result {}"))
    return path


def test_the_agents_stderr_passes_through(verify: Verifier, tmp_path: Path) -> None:
    """`verify` forwards the agent's stderr and records it."""
    recorded = record(tmp_path, "1 -> #0 initialize {}\n2 <- #0 result {}")
    agent = shell(
        'echo grumble >&2; read a; printf \'{"jsonrpc": "2.0", "id": 0, "result": {}}\\n\''
    )
    actual = verify(recorded.path, agent)
    recorded.close()
    assert actual.code == 0, actual.stdout
    assert actual.stderr.startswith("grumble\n")
    (new,) = verify.home.glob("*.db")
    with RecordingReader(new) as reader:
        assert stream_bytes(reader.connection, "stderr") == b"grumble\n"


def test_an_agent_has_time_to_end(
    verify: Verifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After its last message, `verify` lets the agent end by itself, and compares late output."""
    monkeypatch.setattr("acp_proxy.playback.verify.verify_requests._SETTLE_NS", 10**8)
    recorded = record(tmp_path, "1 -> #0 initialize {}\n2 <- #0 result {}\n3 <- _x/bye {}")
    recorded.close()
    answer = '{"jsonrpc": "2.0", "id": 0, "result": {}}\\n'
    bye = '{"jsonrpc": "2.0", "method": "_x/bye", "params": {}}\\n'
    agent = shell(f"read a; printf '{answer}'; cat >/dev/null; printf '{bye}'")
    result = verify.here(recorded.path, agent)
    assert result.code == 0, result.stdout + result.stderr
    verify.expect_nothing_left()
