"""Tests faults of a recorder with real processes: what client and agent receive."""

from __future__ import annotations

import random
import re
import signal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.limits import LARGE_LINE
from tests.agents import flood
from tests.integration.processes import (
    EXACT,
    Gate,
    agent,
    living,
    needs_proc,
    peak_memory,
    processes,
    shell,
    wait_until,
    wait_until_still,
)
from tests.support.planted_secrets import KEY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.processes import Recorder, Talk

ECHO = shell("exec cat")
NEVER = {
    "bare pumps": "noop probability=0",
    "through the engine": "noop where=text:never-sent",
}
"""Rules that never fire, and which way the bytes go then."""
SIZE = 1 << 18


def request(number: int, method: str = "m") -> bytes:
    """Returns a request as a line."""
    return b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":{}}\n' % (number, method.encode())


def reply(number: int) -> bytes:
    """Returns a response as a line."""
    return b'{"jsonrpc":"2.0","id":%d,"result":{}}\n' % number


def note(method: str) -> bytes:
    """Returns a notification as a line."""
    return b'{"jsonrpc":"2.0","method":"%s","params":{}}\n' % method.encode()


A, B, C = map(note, "abc")


def faults(*rules: str) -> list[str]:
    """Returns the options of `record` for some fault rules."""
    return [word for rule in rules for word in ("--fault", rule)]


def fired(conversation: Talk) -> list[tuple[Any, ...]]:
    """Returns the rows of the fault rules that fired, in the order of their frames."""
    return conversation.recording.rows(
        "select seq, rule, action, received, delivered from faults_fired order by seq, rowid"
    )


def marks(conversation: Talk, stream: str) -> list[tuple[Any, ...]]:
    """Returns each line of a stream, with its delivery state and its fault."""
    sql = "select raw, newline, delivered, fault from frames where stream = ? order by seq"
    rows = conversation.recording.rows(sql, stream)
    return [(raw + newline.encode(), how, by) for raw, newline, how, by in rows]


def received(conversation: Talk) -> bytes:
    """Returns the recorded bytes of the agent, without lines that faults added."""
    sql = """select raw, newline from frames where stream = 'to-client' and seq not in
        (select seq from faults_fired where received is null) order by seq"""
    return b"".join(raw + newline.encode() for raw, newline in conversation.recording.rows(sql))


# What each kind does


@pytest.mark.parametrize(
    ("rule", "sent", "output"),
    [
        ("noop", A + B, A + B),
        ("reorder where=method:a", A + B + C, B + A + C),
        ("truncate keep_bytes=4 newline=false where=method:b", A + B + C, A + B[:4] + C),
        ("stray-stdout text=hey where=method:b", A + B, A + b"hey\n" + B),
        ("limit-data bytes=60", A + B, (A + B)[:60]),
        ("close where=method:b", A + B + C, A),
        ("stall where=method:b", A + B + C, A),
    ],
)
def test_a_fault_changes_what_the_client_receives(
    record: Recorder, rule: str, sent: bytes, output: bytes
) -> None:
    """If a fault changes a frame of the agent, the client gets the changed frame.

    The recording has the original frame.
    """
    where = "dir:to-client"
    if "where=" in rule:
        rule, where = rule.replace("where=", "where='dir:to-client ") + "'", ""
    conversation = record(ECHO, *faults(rule + (f" where={where}" if where else "")))
    assert conversation.exchange(sent) == output
    conversation.wait()
    assert conversation.recording.stream("to-agent") == sent
    if "close" not in rule and "limit-data" not in rule:  # after these the rest need not be read
        assert received(conversation) == sent
    assert fired(conversation)


@pytest.mark.parametrize(
    ("rule", "sent", "arrived"),
    [
        ("drop where='method:b dir:to-agent'", A + B + C, A + C),
        ("close where='method:b dir:to-agent'", A + B + C, A),
        ("stall where='method:b dir:to-agent'", A + B + C, A),
    ],
)
def test_a_fault_changes_what_the_agent_receives(
    record: Recorder, tmp_path: Path, rule: str, sent: bytes, arrived: bytes
) -> None:
    """If a fault of `record` changes a frame of the client, the agent gets the changed frame."""
    conversation = record(shell('exec cat >"$1"', tmp_path / "output"), *faults(rule))
    conversation.exchange(sent)
    assert conversation.wait() == 0
    assert (tmp_path / "output").read_bytes() == arrived


def test_error_reply_answers_in_place_of_the_agent(record: Recorder, tmp_path: Path) -> None:
    """The fault `error-reply` sends the client an error, and the agent gets no request."""
    rule = "error-reply code=-32000 message=no where='method:m dir:to-agent'"
    conversation = record(shell('cat >"$1"', tmp_path / "output"), *faults(rule))
    error = b'{"jsonrpc":"2.0","id":4,"error":{"code":-32000,"message":"no"}}\n'
    assert conversation.exchange(A + request(4) + B) == error
    assert conversation.wait() == 0
    assert (tmp_path / "output").read_bytes() == A + B
    assert conversation.recording.rows("select method, outcome from exchanges") == [("m", "error")]
    assert marks(conversation, "to-agent")[1] == (request(4), "none", "error-reply")
    assert marks(conversation, "to-client") == [(error, "full", "error-reply")]


def test_a_reply_after_the_end_of_output_is_undelivered(record: Recorder, tmp_path: Path) -> None:
    """If an agent has closed its output, an error reply of a fault is marked as undelivered."""
    conversation = record(shell('exec cat >"$1"', tmp_path / "output"), *faults("error-reply"))
    assert conversation.read_all() == b""
    conversation.write(A + request(4))
    conversation.close_input()
    assert conversation.wait() == 0
    ((line, how, by),) = marks(conversation, "to-client")
    assert (how, by) == ("none", "error-reply")
    assert conversation.recording.events("undelivered") == [
        {"stream": "to-client", "bytes": len(line)}
    ]


# What happens to the agent


@pytest.mark.parametrize(
    ("rule", "code", "data"),
    [
        ("exit code=3", 3, {"code": 3}),
        ("exit code=0", 0, {"code": 0}),
        ("kill", -9, {"signal": 9, "name": "SIGKILL"}),
        ("terminate", -15, {"signal": 15, "name": "SIGTERM"}),
    ],
)
def test_a_fault_ends_the_agent(
    record: Recorder, rule: str, code: int, data: dict[str, Any]
) -> None:
    """If a fault ends the agent, the recorder exits with the agent's code."""
    conversation = record(ECHO, *faults(f"{rule} where='method:b dir:to-client'"))
    conversation.write(A)
    conversation.expect(A)
    conversation.write(B)
    output = conversation.read_all()
    assert output == (A if "exit" in rule else A + B)
    assert conversation.wait() == code
    kind = rule.split()[0]
    assert conversation.recording.events("fault") == [{"rule": kind, "action": kind, **data}]
    assert conversation.recording.events("signal") == []
    (ended,) = conversation.recording.events("exit")
    assert ended == ({"code": code} if "exit" in rule else data)
    assert conversation.recording.field("state") == "complete"


@needs_proc
def test_a_paused_agent_is_resumed(record: Recorder) -> None:
    """The fault `pause` stops an agent of `record`, and the fault `resume` lets it continue."""
    rules = ["pause where='method:a dir:to-agent'", "resume where='method:b dir:to-agent'"]
    conversation = record(shell("echo ready; exec cat"), *faults(*rules))
    conversation.expect(b"ready\n")
    group = conversation.agent_group()
    conversation.write(A)

    def states() -> list[str]:
        return sorted(p.state for p in processes() if p.group == group)

    wait_until(lambda: states() == ["S", "T"], "the agent alone to be stopped")
    conversation.write(B)
    assert conversation.exchange() == b"ready\n" + A + B
    assert conversation.wait() == 0


@needs_proc
def test_a_paused_agent_does_not_outlive_the_proxy(record: Recorder) -> None:
    """If a recorder is killed, an agent that a fault has paused ends too."""
    conversation = record(shell("echo ready; exec cat"), *faults("pause where=dir:to-agent"))
    conversation.expect(b"ready\n")
    group = conversation.agent_group()
    conversation.write(A)
    wait_until(lambda: conversation.recording.path.stat().st_size, "the recording")
    conversation.process.kill()
    wait_until(lambda: not living(group), "the group to be gone")


def test_stderr_flood_writes_to_our_stderr(record: Recorder) -> None:
    """The fault `stderr-flood` writes lines to stderr, and the lines are recorded."""
    conversation = record(ECHO, *faults("stderr-flood lines=5 where='method:b dir:to-client'"))
    assert conversation.exchange(A + B + C) == A + B + C
    assert conversation.wait() == 0
    lines = [f"stderr-flood line {n} of 5" for n in range(1, 6)]
    assert conversation.stderr.decode().splitlines()[:5] == lines
    (event,) = conversation.recording.events("fault")
    assert event["action"] == "stderr-flood"
    assert event["bytes"] == sum(len(line) + 1 for line in lines)


# What is recorded


def test_fired_faults_are_recorded_beside_their_frames(record: Recorder) -> None:
    """For each fault that fired, a recording has the bytes received and the bytes delivered."""
    rules = [
        "drop where='method:a dir:to-client'",
        "duplicate name=twice where='method:b dir:to-client'",
        "truncate keep_bytes=3 where='method:c dir:to-client'",
        "latency name=late latency_ms=1 where='method:c dir:to-client'",
    ]
    conversation = record(ECHO, *faults(*rules), "--seed", "5")
    assert conversation.exchange(A + B + C) == B + B + C[:3] + b"\n"
    assert conversation.wait() == 0
    assert marks(conversation, "to-agent") == [(line, "full", None) for line in (A, B, C)]
    assert marks(conversation, "to-client") == [
        (A, "none", "drop"),
        (B, "full", "twice"),
        (B, "full", "twice"),
        (C, "partial", "late"),
    ]
    cut = C[:3] + b"\n"
    assert [row[1:] for row in fired(conversation)] == [
        ("drop", "drop", A[:-1], None),
        ("twice", "duplicate", B[:-1], B),
        ("twice", "duplicate", None, B),
        ("truncate", "truncate", C[:-1], cut),
        ("late", "latency", C[:-1], cut),
    ]
    assert conversation.recording.field("seed") == 5
    assert 'name = "twice"' in conversation.recording.field("fault_plan")
    shown = record.inspect("log", conversation.recording.path, "fault:twice").splitlines()
    assert ["[twice]" in line or "[injected by twice]" in line for line in shown] == [True, True]
    assert "faults      drop once, twice once, truncate once, late once (seed 5)" in record.inspect(
        "show", conversation.recording.path
    )


def test_the_text_form_keeps_faults(record: Recorder, tmp_path: Path) -> None:
    """`export` to the text form and `import` keep a recording's frames, fired faults and plan."""
    rules = [
        "corrupt mode=nul where=method:a",
        "stray-stdout where=method:b",
        "stall where=method:c",
    ]
    conversation = record(ECHO, *faults(*rules))
    conversation.exchange(A + B + C + A)
    conversation.wait()
    conversation.recording.rows("select 1 from frames")
    record.inspect("export", conversation.recording.path, "-o", tmp_path / "x.jsonl")
    record.inspect("import", tmp_path / "x.jsonl", "-o", tmp_path / "again.db")
    for sql in (
        "select * from faults_fired order by rowid",
        "select * from frames order by seq",
        "select * from events order by seq",
        "select seed, fault_plan from recording",
    ):
        with closing(sqlite3.connect(tmp_path / "again.db")) as again:
            assert again.execute(sql).fetchall() == conversation.recording.rows(sql)


def test_the_summary_of_faults_shows_no_secret(record: Recorder) -> None:
    """The summary of faults that `record` prints masks secrets, even in the names of rules."""
    rules = faults(f"duplicate name={KEY} where=method:b", f"drop where=text:{KEY}")
    conversation = record(ECHO, *rules)
    conversation.exchange(B)
    assert conversation.wait() == 0
    printed = conversation.stderr.decode()
    assert "faults: [redacted:key:" in printed
    assert "drop never fired (--fault 'drop where=text:[redacted:key:" in printed
    assert KEY not in printed


# What the recording says of a response


PROMPT, ANSWER = request(1, "session/prompt"), reply(1)
WITHHELD = r"withheld #\d+, the answer to session/prompt \(#2\)"
BROKE = r"broke #\d+, the answer to session/prompt \(#2\)"
SAME = r"delivered 1 frame late or in pieces, with the same bytes"


@pytest.mark.parametrize(
    ("rule", "arrives", "effect"),
    [
        pytest.param("drop", b"", WITHHELD, id="drop-response"),
        pytest.param("stall", b"", WITHHELD, id="stall-response"),
        pytest.param("close", b"", WITHHELD, id="close-response"),
        pytest.param("truncate keep_bytes=9", ANSWER[:9] + b"\n", BROKE, id="truncate-response"),
        pytest.param("corrupt mode=bad-json", ANSWER[:-2] + b"\n", BROKE, id="corrupt-response"),
        pytest.param(
            "duplicate",
            ANSWER * 2,
            SAME + r" \(duplicate\); made up 1 frame",
            id="duplicate-response",
        ),
        pytest.param("latency latency_ms=1", ANSWER, SAME, id="delay-response"),
        pytest.param("reorder", ANSWER, SAME, id="reorder-response"),
        pytest.param("slice bytes=9", ANSWER, SAME, id="slice-response"),
    ],
)
def test_a_lost_response_is_blamed_on_the_fault(
    record: Recorder, rule: str, arrives: bytes, effect: str
) -> None:
    """If a fault drops or changes a response, `show` names the fault and blames no peer."""
    agent = shell('read request; echo "$1"; exec cat >/dev/null', ANSWER[:-1].decode())
    conversation = record(agent, *faults(f"{rule} where='kind:response dir:to-client'"))
    assert conversation.exchange(PROMPT) == arrives
    assert conversation.wait() == 0
    outcomes = conversation.recording.rows("select method, outcome from exchanges")
    assert outcomes == [("session/prompt", "result")]
    kind = rule.split()[0]
    shown = record.inspect("show", conversation.recording.path)
    assert re.search(rf"! fault {kind} {effect}.*\[fault.effect by a fault\]", shown), shown


# What does not fire


@pytest.mark.parametrize(
    "rule",
    NEVER.values(),
)
def test_a_plan_that_never_fires_changes_nothing(
    record: Recorder, tmp_path: Path, rule: str
) -> None:
    """If no fault rule fires, all bytes pass through a recorder unchanged."""
    chance = random.Random(4)
    speech = b"".join(
        chance.randbytes(size) + end
        for size in (0, 1, 70_000, 3, 500, 65_535, 65_536)
        for end in (b"\n", b"\r\n", b"\r", b"\n\n")
    )
    large = chance.randbytes(LARGE_LINE + 1).replace(b"\n", b"")
    speech += large + b"\n" + chance.randbytes(SIZE) + b"unfinished"
    (tmp_path / "sent").write_bytes(speech)
    conversation = record(
        agent("duplex", tmp_path / "sent", tmp_path / "output", 3, 60_000, 100_000),
        *EXACT,
        *faults(rule),
    )
    backwards = speech[::-1]
    chunks = (backwards[n : n + 50_000] for n in range(0, len(backwards), 50_000))
    assert conversation.exchange(*chunks) == speech
    assert conversation.wait() == 0
    assert (tmp_path / "output").read_bytes() == backwards
    assert conversation.recording.stream("to-client") == speech
    assert conversation.recording.stream("to-agent") == backwards
    assert fired(conversation) == []
    assert conversation.recording.rows("select distinct delivered, fault from frames") == [
        ("full", None)
    ]


def test_an_empty_plan_changes_nothing(record: Recorder, tmp_path: Path) -> None:
    """With an empty fault plan, `record` passes all bytes on unchanged."""
    (tmp_path / "plan.toml").write_text("seed = 3\n")
    conversation = record(ECHO, "--faults", str(tmp_path / "plan.toml"))
    assert conversation.exchange(A) == A
    assert conversation.wait() == 0
    assert conversation.recording.field("seed") == 3


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--fault", "dorp"], "did you mean drop?"),
        (["--faults", "nowhere.toml"], "nowhere.toml"),
        (["--faults", "plan.toml", "--seed", "4"], "two seeds"),
    ],
)
def test_a_bad_plan_is_refused(
    record: Recorder, tmp_path: Path, options: list[str], complaint: str
) -> None:
    """If a fault plan is invalid, `record` starts no agent."""
    (tmp_path / "plan.toml").write_text("seed = 3\n")
    conversation = record(shell('echo started >"$1"', tmp_path / "started"), *options)
    assert conversation.wait() == 2
    sent = conversation.stderr.decode()
    assert sent.startswith("acp-proxy: ")
    assert sent.count("\n") == 1
    assert complaint in sent
    assert not (tmp_path / "started").exists()
    assert not list(tmp_path.glob("talk-*"))


def test_rules_in_the_environment(record: Recorder) -> None:
    """The variable ACP_PROXY_FAULT can contain fault rules for `record`, one on each line."""
    rules = "drop where='method:a dir:to-client'\n\ndrop where='method:c dir:to-client'\n"
    conversation = record(ECHO, env={"ACP_PROXY_FAULT": rules, "ACP_PROXY_SEED": "8"})
    assert conversation.exchange(A + B + C) == B
    assert conversation.wait() == 0
    assert conversation.recording.field("seed") == 8


# What has to hold as without faults


@needs_proc
@pytest.mark.parametrize(
    "rule", [NEVER["through the engine"], "latency latency_ms=1 where=dir:to-client"]
)
def test_back_pressure_is_kept_in_a_touched_direction(
    record: Recorder, tmp_path: Path, rule: str
) -> None:
    """If a client stops reading, a recorder with faults stops reading from the agent."""
    queued = (1 << 20) + (512 << 10)
    sent = b"".join(map(flood.block, range((4 << 20) // flood.BLOCK)))
    count = tmp_path / "count"

    def taken() -> int:
        return int.from_bytes(count.read_bytes(), "little") if count.exists() else 0

    conversation = record(agent("flood", count, len(sent)), *faults(rule))
    assert wait_until_still(taken, "the agent to be held back") < queued
    assert peak_memory(conversation.process.pid) < 72 << 20
    conversation.run(until=lambda: len(conversation.received) == len(sent))
    conversation.close_input()
    assert conversation.read_all() == sent
    assert conversation.wait() == 0


@needs_proc
@pytest.mark.parametrize(
    ("seed", "rules"),
    [
        (0, ["drop probability=0.3 where=dir:to-client", "stray-stdout probability=0.1"]),
        (2, ["drop where=method:no/such"]),
    ],
)
def test_a_kill_of_the_proxy_loses_nothing(
    record: Recorder, tmp_path: Path, seed: int, rules: list[str]
) -> None:
    """If a recorder with faults is killed, everything that was delivered is recorded."""
    chance = random.Random(seed)
    speech = b"".join(note(f"m{n}/{'x' * chance.randrange(300)}") for n in range(20_000))
    (tmp_path / "sent").write_bytes(speech)
    conversation = record(
        agent("duplex", tmp_path / "sent", tmp_path / "output", 3, 60_000, 100_000),
        *faults(*rules),
    )
    group = conversation.agent_group()
    moment = chance.randrange(1, len(speech) // 4)
    chunks = (speech[n : n + 50_000] for n in range(0, len(speech), 50_000))
    conversation.run(chunks, until=lambda: len(conversation.received) >= moment)
    conversation.process.kill()
    output = conversation.read_all()
    assert conversation.wait() == -signal.SIGKILL
    wait_until(lambda: not living(group), "the agent and its guardian to be gone")
    assert speech.startswith(received(conversation))
    delivered = b"".join(raw for raw, how, _ in marks(conversation, "to-client") if how == "full")
    assert delivered.startswith(output)
    assert speech.startswith(conversation.recording.stream("to-agent"))
    assert conversation.recording.stream("to-agent").startswith((tmp_path / "output").read_bytes())


def test_a_signal_ends_an_agent_behind_a_stall(record: Recorder) -> None:
    """If a fault holds back all output of the agent, a stop signal still ends the agent."""
    conversation = record(ECHO, *faults("stall where=dir:to-client"))
    conversation.write(A)
    conversation.wait_for_rows("select 1 from events where kind = 'fault'")
    conversation.process.send_signal(signal.SIGTERM)
    assert conversation.read_all() == b""
    assert conversation.wait() == -15


def test_a_dropped_prompt_does_not_keep_an_agent_alive(record: Recorder) -> None:
    """If a fault dropped the prompt and the client has left, a recorder ends the agent.

    The recorder does not wait for an answer to the prompt.
    """
    stays = shell("trap 'exit 5' TERM; while :; do read x || sleep 0.05; done")
    conversation = record(stays, *faults("drop where=method:session/prompt"), "--grace", "0.2")
    conversation.write(request(1, "session/prompt"))
    conversation.close_output()
    conversation.close_input()
    assert conversation.wait() == 5
    (sent,) = conversation.recording.events("signal")
    assert sent["reason"] == "its client left 0.2 s ago and no request is open"


def test_delayed_frames_arrive_before_the_end(record: Recorder) -> None:
    """If an agent exits, a recorder delivers delayed frames before it closes its output."""
    gate_free = shell('printf "%s\n%s" "$1" last; exit 6', A.decode()[:-1])
    conversation = record(gate_free, *faults("latency latency_ms=300"))
    assert conversation.read_all() == A + b"last"
    assert conversation.wait() == 6


def test_nothing_is_lost_while_faults_are_imported(record: Recorder, tmp_path: Path) -> None:
    """While `record` loads the code of faults, no frame is lost."""
    gate = Gate(tmp_path / "gate")
    conversation = record(
        shell('echo early; read go <"$1"; exec cat', gate.path),
        *faults("noop where=dir:to-agent"),
    )
    conversation.expect(b"early\n")
    gate.open()
    conversation.write(A)
    conversation.expect(A)
    conversation.close_input()
    assert conversation.wait() == 0
