"""Tests `faults sweep`, which runs a client once with each plan."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from attrs import evolve

from acp_proxy.playback.drivers.sweep import ClientRun, client_command, outcome_of
from tests.support.command_line import complaint, run
from tests.support.planted_secrets import KEY

TOUR = Path(__file__).parents[4] / "recordings" / "tour.db"


CLIENT = """
import os, shlex, subprocess, sys
mode = sys.argv[1]
if mode == "forks":
    command = [sys.executable, "-IS", "-c", "import time; time.sleep(1000)"]
    child = subprocess.Popen(command, start_new_session=True)
    print(child.pid, file=open("pids", "a"))
agent = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
agent.stdin.write(b'{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}\\n')
agent.stdin.flush()
line = agent.stdout.readline()
if not line and mode == "shows":
    sys.exit("the agent is gone")
if not line and mode == "silent":
    sys.exit(3)
assert line
agent.stdin.close()
agent.wait()
"""


@pytest.fixture
def sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the arguments of a sweep with a client that only initializes."""
    monkeypatch.chdir(tmp_path)
    Path("client.py").write_text(CLIENT)
    Path("plans").mkdir()
    return ["faults", "sweep", str(TOUR)]


def plan(name: str, rule: str) -> None:
    """Writes a plan with one rule for the answer to initialize."""
    text = f'[[fault]]\nwhere = "dir:to-client method:initialize"\n{rule}\n'
    Path("plans", f"{name}.toml").write_text(text)


def client(mode: str) -> str:
    """Returns the command that starts the test client in a mode."""
    return f"{shlex.quote(sys.executable)} client.py {mode} {{agent}}"


@pytest.mark.slow
def test_a_sweep_reports_how_a_client_handled_each_plan(sweep: list[str]) -> None:
    """`faults sweep` reports for each fault plan how the client ended: finished or crashed."""
    plan("1-fine", 'kind = "slice"')
    plan("2-gone", 'kind = "exit"')
    options = ["--plans", "plans", "--timeout", "60", "--junit", "out.xml", "--json"]
    result = run(*sweep, *options, "--client", client("plain"))
    runs = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 1
    assert [(item["plan"], item["outcome"], item["exit_code"]) for item in runs] == [
        ("", "finished", 0),
        ("plans/1-fine.toml", "finished", 0),
        ("plans/2-gone.toml", "crashed", 1),
    ]
    assert [item["fired"] for item in runs] == [{}, {"slice": 1}, {"exit": 1}]
    suite = ET.parse("out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    assert [f.get("type") for f in suite.iter("failure")] == ["crashed"]


@pytest.mark.slow
def test_a_client_that_waits_for_ever_is_ended(sweep: list[str]) -> None:
    """If a client runs longer than `--timeout`, `faults sweep` kills it and its child processes."""
    plan("hangs", 'kind = "drop"')
    options = ["--plans", "plans", "--timeout", "5", "--json"]
    result = run(*sweep, *options, "--client", client("forks"))
    last = json.loads(result.stdout.splitlines()[-1])
    assert (last["outcome"], last["exit_code"], result.exit_code) == ("hung", None, 1)
    pids = [int(line) for line in Path("pids").read_text().splitlines()]
    assert len(pids) == 2
    for pid in pids:
        with contextlib.ExitStack() as ended:
            if sys.platform == "linux":
                ended.enter_context(pytest.raises(ProcessLookupError))
            os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "outcome"), [("shows", "error shown"), ("silent", "failed")])
def test_a_client_that_handles_its_errors_passes(sweep: list[str], mode: str, outcome: str) -> None:
    """A client that exits with an error code because of a fault passes `faults sweep`."""
    plan("gone", 'kind = "close"')
    options = ["--plans", "plans/gone.toml", "--timeout", "60"]
    result = run(*sweep, *options, "--client", client(mode))
    assert result.exit_code == 0, result.output
    head, first, second, legend = result.stdout.splitlines()
    assert head.split() == ["PLAN", "OUTCOME", "EXIT", "TOOK", "FIRED", "SAID", "LAST"]
    assert first.split()[:3] == ["(no", "faults)", "finished"]
    assert legend.startswith("finished: the client ended with exit code 0; ")
    assert second.startswith(f"plans/gone.toml  {outcome}")


UNTESTED = (
    (
        "import sys; sys.exit(0)",
        "the client never started its agent; use {agent} or ACP_AGENT_COMMAND",
    ),
    (
        "import subprocess, sys; subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL)",
        "the client started its agent and sent it nothing",
    ),
)


@pytest.mark.slow
@pytest.mark.parametrize(("code", "answer"), UNTESTED, ids=["no-agent", "silent-client"])
def test_a_sweep_that_tests_nothing_fails(sweep: list[str], code: str, answer: str) -> None:
    """If a client never uses the agent, `faults sweep` exits with 2, since nothing was tested."""
    Path("idle.py").write_text(code)
    command = f"{shlex.quote(sys.executable)} idle.py {{agent}}"
    result = run(*sweep, "--plans", "@all", "--junit", "out.xml", "--json", "--client", command)
    (only,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert (only["plan"], only["outcome"], result.exit_code) == ("", "finished", 2)
    assert result.stderr == f"acp-proxy: (no faults): {answer}\n"
    (failure,) = ET.parse("out.xml").getroot().iter("failure")
    assert (failure.get("type"), failure.get("message")) == ("untested", answer)


@pytest.mark.slow
def test_a_client_that_fails_without_faults_tests_nothing(sweep: list[str]) -> None:
    """If a client fails even without faults, `faults sweep` tries no plan, and exits with 2."""
    fails = CLIENT + "print('first', file=sys.stderr)\nraise SystemExit('no such module')"
    Path("client.py").write_text(fails)
    result = run(*sweep, "--plans", "@all", "--client", client("plain"))
    _, row, *said = result.stdout.splitlines()
    assert row.split()[:4] == ["(no", "faults)", "error", "shown"]
    assert row.endswith("    0  no such module")
    assert said == ["    first", "    no such module"]
    assert "without faults, too, the outcome is 'error shown'" in result.stderr
    assert result.exit_code == 2


@pytest.mark.slow
def test_a_plan_that_never_fired_is_not_reached(sweep: list[str]) -> None:
    """`faults sweep` reports a plan as "not reached" if no rule of the plan has fired."""
    Path("plans", "none.toml").write_text('[[fault]]\nkind = "drop"\nwhere = "method:none"\n')
    options = ["--plans", "plans", "--timeout", "60", "--junit", "out.xml"]
    result = run(*sweep, *options, "--client", client("plain"))
    assert result.exit_code == 0, result.output
    *_, row, finished, not_reached = result.stdout.splitlines()
    assert row.split()[:4] == ["plans/none.toml", "not", "reached", "0"]
    assert (finished[:9], not_reached[:12]) == ("finished:", "not reached:")
    (skipped,) = ET.parse("out.xml").getroot().iter("skipped")
    assert skipped.get("message") == "no rule of the plan fired, so nothing was tested"


def test_a_run_that_starts_no_agent_tests_nothing() -> None:
    """If a run of `faults sweep` starts no agent, the result of its plan counts as untested."""
    took_it = ClientRun("@x", "error shown", 1, 0.1, None, "", started=True, received=None)
    assert took_it.untested is None
    assert "never started" in str(evolve(took_it, started=False).untested)
    assert "the outcome is 'error shown'" in str(evolve(took_it, plan="").untested)
    assert evolve(took_it, plan="", outcome="finished").untested is None  # killed its agent


def test_the_agent_command_takes_the_place_in_the_client_command() -> None:
    """`faults sweep` replaces `{agent}` in the client's command by the agent's command."""
    agent = ["acp", "replay", "a b.db"]
    assert client_command("c {agent} -v", agent) == ["c", *agent, "-v"]
    assert client_command("c '--agent={agent}'", agent) == ["c", "--agent=acp replay 'a b.db'"]
    assert client_command("c", agent) == ["c"]


def test_a_sweep_refuses_wrong_use(sweep: list[str]) -> None:
    """`faults sweep` refuses an invalid plan, an unknown client, or an unwritable report file."""
    words = [*sweep, "--client", f"{sys.executable} {{agent}}"]
    assert complaint(*words, "--plans", "plans") == "expected plans (*.toml) in plans"
    plan("bad", 'kind = "dorp"')
    assert "plans/bad.toml: fault[0].kind: there is no 'dorp'" in complaint(
        *words, "--plans", "plans"
    )
    assert "there is no ready plan @non" in complaint(*words, "--plans", "@non")
    here = [*sweep, "--plans", "@hung-permission"]
    assert "command that can be found" in complaint(*here, "--client", "no-such-client {agent}")
    assert "no closing quotation" in complaint(*here, "--client", "x '")
    words += ["--plans", "@hung-permission"]
    assert "is not a directory" in complaint(*words, "--junit", "none/x.xml")
    assert "cannot write plans: it is a directory" in complaint(*words, "--junit", "plans")


@pytest.mark.parametrize(
    ("complaints", "outcome"),
    [
        (b'Traceback (most recent call last):\n  File "c.py", line 9, in <module>\n', "crashed"),
        (
            b'ERROR\nTraceback (most recent call last):\n  File "c.py", line 9, in read\n',
            "error shown",
        ),
        (b"thread 'main' panicked at src/main.rs:4:5:\n", "crashed"),
        (b"Error: no\n    at c.js:1:1\n\nNode.js v22.1.0\n", "crashed"),
        (b"the agent is gone\n", "error shown"),
    ],
)
def test_a_caught_error_is_not_a_crash(complaints: bytes, outcome: str) -> None:
    """If a client prints a traceback but exits with 0, `faults sweep` reports no crash."""
    assert outcome_of(1, complaints, is_silent=False) == outcome
    assert outcome_of(0, complaints, is_silent=False) == "finished"
    assert outcome_of(-11, b"", is_silent=True) == "crashed"


@pytest.mark.slow
def test_a_sweep_shows_no_secret_of_a_client(sweep: list[str]) -> None:
    """Reports of `faults sweep` mask secrets in the output of the client."""
    Path("client.py").write_text(f"import sys\nsys.exit('refused: {KEY}')\n")
    options = ["--plans", "@agent-hangs", "--timeout", "60", "--junit", "out.xml", "--json"]
    result = run(*sweep, *options, "--client", client("plain"))
    assert result.exit_code == 2
    assert "refused: " in result.stdout
    assert KEY not in result.output + Path("out.xml").read_text()
