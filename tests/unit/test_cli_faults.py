"""``acp-proxy faults``: list, explain, sweep."""

from __future__ import annotations

import json
import shlex
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from attrs import evolve

from acp_proxy.faults.plan import ready_plans
from acp_proxy.faults.registry import KINDS
from acp_proxy.runtime.sweep import ClientRun, client_command, outcome_of
from tests.commands import complaint, run

TOUR = Path(__file__).parents[2] / "recordings" / "tour.db"


def test_list_has_all_kinds_and_plans() -> None:
    """Each kind with its settings, each plan with what it is about."""
    said = run("faults", "list").stdout
    for kind in KINDS:
        assert f"\n{kind}\n" in f"\n{said}"
    for name in ready_plans():
        assert f"  @{name} " in said
    assert "  latency_ms = 100.0  number. How much later.\n" in said
    assert "  probability = 1.0  number." in said


def test_list_can_be_narrowed() -> None:
    """Only the kinds that are named; one that does not exist is refused."""
    said = run("faults", "list", "drop", "noop").stdout
    assert said == "noop\n  Nothing happens.\n\ndrop\n  The frame never arrives.\n\n"
    assert complaint("faults", "list", "dorp") == "there is no kind 'dorp'; did you mean drop?"


def test_list_as_json() -> None:
    """The same for a program."""
    listed = json.loads(run("faults", "list", "--json").stdout)
    assert [kind["kind"] for kind in listed["kinds"]] == list(KINDS)
    (mode, *_) = next(k for k in listed["kinds"] if k["kind"] == "corrupt")["settings"]
    assert (mode["default"], mode["choices"][0]) == ("flip", "flip")
    assert set(listed["plans"]) == set(ready_plans())
    assert listed["triggers"][0]["name"] == "where"


def test_explain_in_words() -> None:
    """Each rule is a sentence, with its conditions."""
    rule = "latency latency_ms=20 after=3 every=2 times=1 probability=0.5 window=1s..2s"
    said = run("faults", "explain", "-", "--fault", rule, "--fault", "stray-stdout text=x").stdout
    assert said.splitlines() == [
        "latency: any frame arrives 20 ms later; the first 3 pass, then one in 2, once, with a"
        " probability of 0.5, from 1 s to 2 s",
        "stray-stdout: any frame to-client arrives behind a stray line on stdout: x",
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_explained(kind: str) -> None:
    """It has words for what becomes of a frame."""
    setting = "frame=x" if kind == "replace" else ""
    said = run("faults", "explain", "-", "--fault", f"{kind} {setting}").stdout
    assert said.startswith(f"{kind}: any frame ")


def test_explain_on_a_recording() -> None:
    """Which frames are hit, and what becomes of them."""
    result = run(
        "faults", "explain", "@hung-permission", TOUR, "--fault", "drop where=method:no/such"
    )
    assert result.stdout.splitlines()[-1] == (
        "#18 → session/request_permission response: never arrives  [hung-permission]"
    )
    assert result.stderr == "acp-proxy: drop would never fire\n"


def test_explain_as_json() -> None:
    """The same for a program, with what arrives."""
    found = json.loads(run("faults", "explain", "@duplicate-reply", TOUR, "--json").stdout)
    (hit,) = found["hits"]
    assert (hit["seq"], hit["rules"]) == (34, ["duplicate-reply"])
    assert hit["injected"] == [hit["delivered"]]
    assert found["rules"][0]["fired"] == 1
    assert json.loads(run("faults", "explain", "@noisy-stderr", "--json").stdout)["hits"] is None


def test_explain_makes_control_characters_visible() -> None:
    """What a plan puts into the output does not command the terminal."""
    assert "\x1b" not in run("faults", "explain", "@terminal-escapes", TOUR).output


def test_explain_refuses() -> None:
    """Nothing to explain, an unknown plan, two seeds."""
    assert complaint("faults", "explain", "-") == "expected a plan, or a rule with --fault"
    assert complaint("faults", "explain", "@hung").startswith("there is no ready plan @hung")
    assert "two seeds" in complaint("faults", "explain", "@flaky-agent", "--seed", "77")


# The sweep

CLIENT = """
import os, shlex, subprocess, sys
mode = sys.argv[1]
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
    """The words of a sweep with a client that only says hello."""
    monkeypatch.chdir(tmp_path)
    Path("client.py").write_text(CLIENT)
    Path("plans").mkdir()
    return ["faults", "sweep", str(TOUR)]


def plan(name: str, rule: str) -> None:
    """Writes a plan of one rule on the answer to initialize."""
    text = f'[[fault]]\nwhere = "dir:to-client method:initialize"\n{rule}\n'
    Path("plans", f"{name}.toml").write_text(text)


def client(mode: str) -> str:
    """The command of a client."""
    return f"{shlex.quote(sys.executable)} client.py {mode} {{agent}}"


@pytest.mark.slow
def test_a_sweep_says_how_a_client_took_each_plan(sweep: list[str]) -> None:
    """Finished and crashed, with exit codes; and JUnit has one failure of three."""
    plan("1-fine", 'kind = "slice"')
    plan("2-gone", 'kind = "exit"')
    options = ["--plans", "plans", "--timeout", "60", "--junit", "out.xml", "--json"]
    result = run(*sweep, *options, "--client", client("plain"))
    runs = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 1
    assert [(one["plan"], one["outcome"], one["exit_code"]) for one in runs] == [
        ("", "finished", 0),
        ("plans/1-fine.toml", "finished", 0),
        ("plans/2-gone.toml", "crashed", 1),
    ]
    assert [one["fired"] for one in runs] == [{}, {"slice": 1}, {"exit": 1}]
    suite = ET.parse("out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    assert [f.get("type") for f in suite.iter("failure")] == ["crashed"]


@pytest.mark.slow
def test_a_client_that_waits_for_ever_is_ended(sweep: list[str]) -> None:
    """It hung, it has no exit code, and the sweep has failed."""
    plan("hangs", 'kind = "drop"')
    options = ["--plans", "plans", "--timeout", "3", "--json"]
    result = run(*sweep, *options, "--client", client("plain"))
    last = json.loads(result.stdout.splitlines()[-1])
    assert (last["outcome"], last["exit_code"], result.exit_code) == ("hung", None, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("mode", "outcome"), [("shows", "error shown"), ("silent", "failed")])
def test_a_client_that_takes_it_well_passes(sweep: list[str], mode: str, outcome: str) -> None:
    """An error that is shown, or only an exit code, is no failure of the sweep."""
    plan("gone", 'kind = "close"')
    options = ["--plans", "plans/gone.toml", "--timeout", "60"]
    result = run(*sweep, *options, "--client", client(mode))
    assert result.exit_code == 0, result.output
    first, second = result.stdout.splitlines()
    assert first.split()[:3] == ["(no", "faults)", "finished"]
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
def test_a_sweep_that_tests_nothing_is_not_green(sweep: list[str], code: str, answer: str) -> None:
    """It ends after its first run with exit code 2, one line that says why, and a failed case."""
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
    """No plan is tried, and the exit code is 2."""
    fails = CLIENT + "sys.exit(3)"
    Path("client.py").write_text(fails)
    result = run(*sweep, "--plans", "@all", "--client", client("plain"))
    assert result.stdout.split()[:4] == ["(no", "faults)", "failed", "silently"]
    assert result.stdout.count("\n") == 1
    assert "without faults, too, the outcome is 'failed silently'" in result.stderr
    assert result.exit_code == 2


def test_a_run_that_starts_no_agent_tests_nothing() -> None:
    """With faults as without; but with them, a client that fails is what is looked for."""
    took_it = ClientRun("@x", "error shown", 1, 0.1, None, "", started=True, received=None)
    assert took_it.untested is None
    assert "never started" in str(evolve(took_it, started=False).untested)
    assert "the outcome is 'error shown'" in str(evolve(took_it, plan="").untested)
    assert evolve(took_it, plan="", outcome="finished").untested is None  # killed its agent


def test_the_agent_is_put_where_the_client_wants_it() -> None:
    """As words, or as one text that a shell would split."""
    agent = ["acp", "replay", "a b.db"]
    assert client_command("c {agent} -v", agent) == ["c", *agent, "-v"]
    assert client_command("c '--agent={agent}'", agent) == ["c", "--agent=acp replay 'a b.db'"]
    assert client_command("c", agent) == ["c"]


def test_a_sweep_refuses(sweep: list[str]) -> None:
    """No plans, a wrong plan, a client that is not there, a report that cannot be written."""
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
    assert "is no directory" in complaint(*words, "--junit", "none/x.xml")
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
def test_an_error_that_was_caught_is_no_crash(complaints: bytes, outcome: str) -> None:
    """A program that logs a traceback has not crashed; one that ends with its own has."""
    assert outcome_of(1, complaints, is_silent=False) == outcome
    assert outcome_of(0, complaints, is_silent=False) == "finished"
    assert outcome_of(-11, b"", is_silent=True) == "crashed"
