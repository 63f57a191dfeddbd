"""``show`` prints the summary, as a screen and as JSON."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path

import pytest

from acp_proxy.cli.screens.styled_text import columns_of
from acp_proxy.recording import log_format as capture_log
from tests.support.command_line import run
from tests.support.example_checker import before, text_form_of
from tests.support.indexed_rows import alter
from tests.support.log_writer import (
    MS,
    ORIGIN_NS,
    LogWriter,
    handshake,
    notification,
    record_conversation,
    request,
    result,
    text,
    update,
)

SESSION = "a v1 handshake, session s"


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the time zone to UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def shown(path: Path) -> dict[str, str]:
    """Returns the rows of `show` that have a label, by label."""
    result = run("inspect", "show", path)
    assert result.exit_code == 0
    return {row[:12].strip(): row[12:] for row in result.stdout.splitlines() if row[:1].isalpha()}


def test_the_first_screen(tmp_path: Path) -> None:
    """`show` prints the client, the agent, the messages and the problems."""
    path = record_conversation(tmp_path / "story.db")
    dialect = "v1, protocol 1 (protocolVersion 1 in initialize, and no sign of another dialect)"
    assert (
        run("inspect", "show", path).stdout
        == f"""\
story  (c0ffee000001)  agent broke a rule #9 · ✗ 3 errors, 1 warning, 7 notes
  ✗ #9 session/request_permission: params of session/request_permission: /params/options/0/name: \
expected string, got nothing  [rpc.schema-params by the agent]
  ✗ #11: fs/read_text_file needs the capability fs.readTextFile, which the \
client does not offer  [fs.read-capability by the agent]
  ✗ #17: a line is not JSON: "not json"  [frame.not-json by the agent]
  ! #20: the stream ended in the middle of a line  [frame.unterminated by the agent]

1 turn · 9 ms · 1 call ✓ · 1 permission allowed
turns       1
  1.  #6–15  end_turn  9 ms  3 updates  1 tool call  hello 你好
tool calls  1: 1 other (1 completed)
  #8  completed  Edit (c-1)
permissions 1: 1 allow_once
  #9  permission  allow_once  after 1 ms  Edit (c-1)
files       0 read (1 failed)
ended       exit 3, the client closed its end

notes
  - the client answered fs/read_text_file with error -32001: no such file (#12)  [answer.error \
nobody to blame: the error does not say whose fault it is]
  - the agent never answered session/set_mode "code" (#16), which waited 4 ms  \
[wait.unanswered nobody to blame: the client left while the agent was at work]
  - the agent exited with 3 (#23)  [agent.ended nobody to blame: its client had left]
  - #3 initialize: the answer to initialize has no agentCapabilities  [init.capabilities by the \
agent]
  - #12 fs/read_text_file: error code -32001 is reserved, and version 1 does not define it  \
[rpc.error-code-reserved by the client]
  - #16 session/set_mode: the mode "code" is set, but none is listed  [mode.not-listed by the \
client]
  - #18: a line is blank  [frame.blank-line by the agent]

stderr  (1 line)
  agent: careful

client      ed 1.2
agent       ag 3.4
frames      18: 1 stderr, 6 to-agent, 11 to-client · 1 error, 6 requests, 4 responses, 1 blank, \
2 invalid, 3 notifications · 3 updates
sessions    1
  s-1  new  1 turn  /srv/project
file        {path}
command     agent --acp
directory   /srv/project
started     2025-06-15 15:06:40 +0000, 22 ms
dialect     {dialect}
"""
    )


def test_a_running_recording_says_so(tmp_path: Path) -> None:
    """If the recorder still runs, `show` says that the recording is running."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        assert shown(recorder.path)["ended"] == "still running"


def test_an_incomplete_recording_says_so(tmp_path: Path) -> None:
    """If a recording has no end, `show` says that the recorder was killed."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
    assert shown(recorder.path)["ended"] == (
        "incomplete: the recorder was killed, or could no longer write; the frames written so "
        "far are here"
    )


def test_a_killed_agent_ended_by_a_signal(tmp_path: Path) -> None:
    """If a signal killed the agent, `show` prints the signal."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.event(capture_log.EXIT, signal=9)
        recorder.close("told to stop")
    assert shown(recorder.path)["ended"] == "killed: SIGKILL"


def test_peers_without_a_name(tmp_path: Path) -> None:
    """If there was no handshake, `show` says that the peers did not give their names."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(notification("x"))
    out = run("inspect", "show", recorder.path).stdout
    assert "\nclient      (did not say its name)\nagent       (did not say its name)\n" in out
    assert "dialect" not in shown(recorder.path)


def test_each_peer_has_a_row_with_its_capabilities(tmp_path: Path) -> None:
    """`show` prints the name and the capabilities of client and agent."""
    can = {"fs": {"readTextFile": True, "writeTextFile": False}, "terminal": True}
    agent = {"loadSession": True, "promptCapabilities": {"image": True}, "_meta": {"x.dev": {}}}
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(0, "initialize", protocolVersion=1, clientCapabilities=can))
        ways = [{"id": "oauth", "name": "Browser"}, {"id": "key", "name": "Key"}]
        recorder.to_client(result(0, protocolVersion=1, agentCapabilities=agent, authMethods=ways))
    rows = shown(recorder.path)
    assert rows["client"] == "(did not say its name) · can fs.readTextFile, terminal"
    assert rows["agent"] == (
        "(did not say its name) · can loadSession, promptCapabilities.image, _meta.x.dev"
        " · login by oauth, key"
    )


def test_signals_and_gaps_are_listed(tmp_path: Path) -> None:
    """`show` lists signals that were passed on to the agent, and bytes that were not recorded."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.event(capture_log.SIGNAL, signal=15, action="passed on")
        recorder.event(capture_log.GAP, reason="No space left on device", stderr=7, since=1)
    assert shown(recorder.path)["signals"] == "SIGTERM was passed on to the agent"
    out = run("inspect", "show", recorder.path).stdout
    gap = "7 bytes stderr passed unrecorded until 0.002 s: No space left on device (#3)"
    assert f"\n  ✗ {gap}  [recording.gap nobody to blame: the recorder could not write]\n" in out


def test_a_recording_failure_is_an_error(tmp_path: Path) -> None:
    """If the recorder could not start, `show` says that nothing was recorded."""
    reason = "cannot run beside the agent: no room; the agent runs unrecorded"
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.event(capture_log.NOTE, action="unrecorded", reason=reason)
        recorder.abandon()
    out = run("inspect", "show", recorder.path).stdout
    assert f"\n  ✗ nothing was recorded: {reason} (#2)  [recording.gap " in out
    (listed,) = run("inspect", "list", "--json", tmp_path).stdout.splitlines()
    assert json.loads(listed)["has_problem"] is True


def test_a_hint_is_no_problem(tmp_path: Path) -> None:
    """If a recording has only hints, the first line of `show` says "no problems, 1 note"."""
    path = tmp_path / "x.jsonl"
    lines = [*before(SESSION), "== 90 bytes are left for the agent", "== client leaves"]
    path.write_bytes(b"".join(text_form_of(lines)))
    out = run("inspect", "show", path).stdout
    assert out.startswith("judged  (c0ffee000001)  no problems, 1 note\n  - ")
    assert "\nnotes\n" not in out


def test_a_child_session_names_its_parent() -> None:
    """If a session was started by another session, `show` prints the parent session's name."""
    path = Path(__file__).parents[3] / "data/conformance/healthy/subagent.jsonl"
    lines = run("inspect", "show", path).stdout.splitlines()
    at = lines.index("sessions    2")
    assert [line.split() for line in lines[at + 1 : at + 3]] == [
        ["s1", "new", "1", "turn", "/w/p"],
        ["child1", "child", "of", "s1"],
    ]
    parent, child = json.loads(run("inspect", "show", path, "--json").stdout)["opened"]
    assert ("parent" in parent, child["parent"], child["turns"]) == (False, "s1", 0)


def test_rules_of_the_first_messages_are_checked(tmp_path: Path) -> None:
    """`show` checks rules only in the first 3,000 frames of a long recording, and says so."""
    path = tmp_path / "x.jsonl"
    plan = (
        '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "plan", "entries": []}}'
    )
    sound = [*before(f"{SESSION}, a prompt"), *[plan] * 3_000]
    lines = [*sound, '<- #2 result {"stopReason": "end_turn"}', "<- | late", "== client leaves"]
    path.write_bytes(b"".join(text_form_of(lines, 1)))
    out = run("inspect", "show", path).stdout
    extent = "rules checked in the first 3,000 frames"
    assert out.startswith(f"judged  (c0ffee000001)  no problems, {extent}\n")
    assert f"\n  rules were checked up to #3,000: acp-proxy check {path} checks all frames\n" in out
    checked = json.loads(run("inspect", "show", "--json", path).stdout)["checked"]
    assert (checked["frames"], checked["is_whole"], checked["last_seq"]) == (3_000, False, 3_000)


def test_unlisted_findings_are_counted(tmp_path: Path) -> None:
    """The first line of `show` counts all problems, although only some are listed."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.event(capture_log.GAP, reason="disk full", since=0)
        for n in range(150):
            recorder.to_agent(request(n, "session/set_mode", sessionId="s", modeId="m"))
            event = {"rule": "lost", "action": "drop", "delivered": "none"}
            recorder.event(capture_log.FAULT, capture_log.TO_AGENT, **event)
    out = run("inspect", "show", recorder.path).stdout
    assert out.startswith("x  (c0ffee000001)  incomplete  gap #4 · ✗ 2 errors, 1 note\n")


def test_a_recording_that_stopped_early_says_so(tmp_path: Path) -> None:
    """If recording stopped because the disk was full, `show` prints the time and the reason."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.event(capture_log.GAP, reason="No space left on device", stderr=7, since=1)
    ended = shown(recorder.path)["ended"]
    stopped = "recording had stopped at 0.003 s (No space left on device)"
    assert ended == f"incomplete: {stopped}"


def test_a_recording_that_went_on_after_a_gap_was_killed(tmp_path: Path) -> None:
    """If frames follow a gap (unrecorded bytes), `show` says that the recorder was killed later."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.event(capture_log.GAP, reason="No space left on device", stderr=7, since=1)
        handshake(recorder)
    assert "the recorder was killed" in shown(recorder.path)["ended"]


def test_open_turns_and_permissions_are_shown(tmp_path: Path) -> None:
    """`show` says how long a turn or a permission request has been open."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
        recorder.to_client(
            request("p", "session/request_permission", sessionId="s", toolCall={"title": "Edit"})
        )
        recorder.t_ns += 240_000 * MS
        recorder.event(capture_log.EXIT, code=0)
    out = run("inspect", "show", recorder.path).stdout
    assert "  1.  #2  never ended  0 updates  0 tool calls  go\n" in out
    assert "a person: permission" not in out  # nobody waits for a client once the agent is gone
    amid = 'the agent exited with 0 (#4), in the middle of turn 1 (prompt "go" #2)'
    assert f"  ✗ {amid}  [agent.ended by the agent]\n" in out
    assert "  #3  permission  not answered  after 4 min 0 s  Edit\n" in out


def test_a_running_recording_that_waits_has_no_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a permission is awaited in a running recording, `show` names the wait, but no problem."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
        recorder.to_client(
            request("p", "session/request_permission", sessionId="s", toolCall={"title": "Edit"})
        )
        now = ORIGIN_NS + recorder.t_ns + 240_000 * MS
        monkeypatch.setattr("acp_proxy.cli.explain.show.time.monotonic_ns", lambda: now)
        out = run("inspect", "show", recorder.path).stdout
    assert out.startswith("x  (c0ffee000001)  running  a person: permission 4 min 0 s, ")
    assert "[wait." not in out
    assert (
        '  … a person: permission 4 min 0 s, session/request_permission "Edit" (#3)'
        in out.partition("\n\n")[0]
    )


def test_a_running_recording_never_only_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If nothing is open in a running recording, the first line of `show` has "nothing is open"."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        now = ORIGIN_NS + recorder.t_ns
        monkeypatch.setattr("acp_proxy.cli.explain.show.time.monotonic_ns", lambda: now)
        out = run("inspect", "show", recorder.path).stdout
    assert out.startswith("x  (c0ffee000001)  running  nothing is open, no problems")


def test_a_huge_recording_has_a_short_summary(tmp_path: Path) -> None:
    """For 300 sessions and turns, `show` prints a few of each, and says how many it left out."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for n in range(300):
            recorder.to_agent(request(n, "session/new", cwd="/srv", mcpServers=[]))
            recorder.to_client(result(n, sessionId=f"s-{n}"))
            prompt = [text(f"question {n}")]
            recorder.to_agent(request(n, "session/prompt", sessionId=f"s-{n}", prompt=prompt))
            recorder.to_client(request(n, "session/request_permission", sessionId=f"s-{n}"))
            recorder.to_client(result(n, stopReason="end_turn"))
            recorder.to_client(update(f"s-{n}", "agent_message_chunk", content=text("late")))
    out = run("inspect", "show", recorder.path).stdout
    assert len(out.splitlines()) < 60
    verdict = "client broke a rule #2 · ✗ 301 errors, 600 warnings, 300 notes"
    assert out.startswith(f"x  (c0ffee000001)  incomplete  {verdict}\n")
    assert "\n  ... and 295 more\n" in out
    assert "session/update: agent_message_chunk comes after the end of the turn" in out
    assert "\n  ...   and 290 more\n" in out
    assert "... and 297 more of this kind: acp-proxy check" in out
    assert "question 4\n" in out
    assert "question 295\n" in out
    assert "question 5\n" not in out


def test_recorded_text_does_not_control_the_terminal(tmp_path: Path) -> None:
    """`show` prints no control character of a recorded name, method, path or text."""
    evil = "\x1b[31m\x9b2J\u202e\nforged"
    with LogWriter(tmp_path / "x.db", name=evil, cwd=evil, arg=["agent", evil]) as recorder:
        info = {"name": evil, "version": evil}
        recorder.to_agent(request(1, "initialize", protocolVersion=1, clientInfo=info))
        recorder.to_agent(request(evil, evil, sessionId=evil, prompt=[text(evil)]))
        recorder.to_agent(request(evil, "session/prompt", sessionId=evil, prompt=[text(evil)]))
        recorder.stderr(evil)
        recorder.event(capture_log.EXIT, code=0, reason=evil)
    for command, where in (("show", recorder.path), ("log", recorder.path), ("list", tmp_path)):
        out = run("inspect", command, where).stdout
        assert out.replace("\n", "").isprintable()
        assert not [line for line in out.splitlines() if line.startswith("forged")]


def test_a_summary_as_json_is_one_object(tmp_path: Path) -> None:
    """`show --json` prints one JSON object, which has the turns and the unanswered requests."""
    result = run("inspect", "show", "--json", record_conversation(tmp_path / "story.db"))
    assert result.stdout.count("\n") == 1
    summary = json.loads(result.stdout)
    assert summary["recording"]["id"] == "c0ffee000001"
    assert summary["frames"] == {"stderr": 1, "to-agent": 6, "to-client": 11}
    assert summary["duration_ns"] == 22 * MS
    assert summary["turns"] == [
        {
            "id": 1,
            "session": "s-1",
            "prompt_seq": 6,
            "end_seq": 15,
            "stop_reason": "end_turn",
            "duration_ns": 9 * MS,
            "updates": 3,
            "tool_calls": 1,
            "prompt": "hello 你好",
            "outcome": "result",
            "tokens": None,
        }
    ]
    assert summary["unanswered"] == [
        {
            "seq": 16,
            "direction": "to-agent",
            "method": "session/set_mode",
            "rpc_id": "3",
            "waited_ns": 4 * MS,
            "preview": "code",
            "session": "s-1",
            "awaited": "agent",
        }
    ]
    assert summary["stderr_tail"] == ["agent: careful"]


def test_a_dialect_without_a_reason_stands_alone(tmp_path: Path) -> None:
    """`show` prints the dialect even if a text form does not say how it was detected."""
    path = tmp_path / "draft.jsonl"
    header = {"id": "0", "name": "x", "dialect": "draft-1.0", "tool_version": "0"}
    header["started_at"] = "2025-01-01T00:00:00Z"
    path.write_text(json.dumps({"acp_proxy": 1, "recording": header}) + "\n")
    assert shown(path)["dialect"] == "draft-1.0"


@pytest.mark.parametrize(("count", "heading"), [(2, "(2 lines)"), (99, "of 99 lines)")])
def test_stderr_says_how_much_of_it_is_shown(tmp_path: Path, count: int, heading: str) -> None:
    """`show` heads stderr with the number of its lines, and says how many of them it prints."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        for number in range(count):
            recorder.stderr(f"line {number}")
    page = run("inspect", "show", recorder.path).stdout
    title, *lines = page.partition("\nstderr  ")[2].splitlines()
    shown = len([line for line in lines if line.startswith("  line ")])
    assert title == (heading if shown == count else f"(the last {shown} {heading}")
    assert f"line {count - 1}" in page


def test_the_last_lines_of_stderr_have_its_colour(tmp_path: Path) -> None:
    """`show` prints the last lines of the agent's stderr in the colour that `log` has for them."""
    with LogWriter(tmp_path / "failed.db") as recorder:
        handshake(recorder)
        recorder.stderr("info: here I am")
        recorder.end(code=3)
        recorder.close()
        recorder.finish()
    colours = []
    for command in ("show", "log"):
        out = run("inspect", command, tmp_path / "failed.db", FORCE_COLOR="1").stdout
        (line,) = (line for line in out.splitlines() if "here I am" in line)
        before, _, _ = line.partition("info: here I am")
        colours.append(before.rpartition("\x1b[")[2])
    assert colours[0] == colours[1] != ""


@pytest.mark.parametrize("columns", [60, 80, 100, 160])
def test_turns_of_several_sessions_fit_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """If there are several sessions, the lines about turns in `show` still fit the terminal."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        for number in (1, 2, 3):
            recorder.to_agent(request(number, "session/new", cwd="/srv/p", mcpServers=[]))
            recorder.to_client(result(number, sessionId=f"ses_{number}f0c9a3e-7b1d-4f7e-9b1a"))
        for number in (1, 2, 3):
            said = [text("a long question, with more words than a line of a terminal has room for")]
            session = f"ses_{number}f0c9a3e-7b1d-4f7e-9b1a"
            recorder.to_agent(request(9 + number, "session/prompt", sessionId=session, prompt=said))
            recorder.to_client(update(session, "tool_call", toolCallId="c", title="Read"))
            recorder.t_ns += 3000 * MS
        recorder.to_client(result(10, stopReason="max_turn_requests"))
        recorder.end()
        recorder.close()
        recorder.finish()
    monkeypatch.setattr("acp_proxy.cli.screens.output.width", lambda: columns)
    lines = run("inspect", "show", recorder.path).stdout.splitlines()
    turns = [line for line in lines if line.startswith(("  1. ", "  2. ", "  3. "))]
    assert len(turns) == 3
    assert all(
        "a long" in line and line.endswith("…" if columns < 160 else "for") for line in turns
    )
    assert all(columns_of(line) <= columns for line in lines)
    assert all(line == line.rstrip() for line in lines)
    assert ("1 tool call" in turns[0]) == (columns >= 160)
    blank = [not line for line in lines]
    assert not any(line and other for line, other in pairwise(blank))


def test_a_permission_names_its_tool_call(tmp_path: Path) -> None:
    """`show` prints a permission request with the title and a short id of its tool call."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        call = {"toolCallId": "toolu_01ABCDEFGHJK0123456789XyZ"}
        recorder.to_client(update("s", "tool_call", title="Read a.py", **call))
        recorder.to_client(request(0, "session/request_permission", sessionId="s", toolCall=call))
    assert "Read a.py (…789XyZ)" in run("inspect", "show", recorder.path).stdout
    (question,) = json.loads(run("inspect", "show", "--json", recorder.path).stdout)["questions"]
    assert (question["title"], question["tool_call"]) == (
        "Read a.py",
        "toolu_01ABCDEFGHJK0123456789XyZ",
    )


@pytest.mark.parametrize(
    ("closed", "end"), [(True, "to the end of the recording"), (False, "until now")]
)
def test_a_silence_that_nothing_ended_says_how_far_it_is_counted(
    tmp_path: Path, closed: bool, end: str
) -> None:
    """For a silence without an end, `show` says "until now" or "to the end of the recording"."""
    recorder = LogWriter(tmp_path / "x.db")
    handshake(recorder)
    recorder.to_agent(request(1, "session/new", cwd="/srv", mcpServers=[]))
    recorder.t_ns += 4_000 * MS
    if closed:
        recorder.event(capture_log.END, capture_log.TO_AGENT, reason="end of file")
        recorder.t_ns += 500 * MS
        recorder.event(capture_log.EXIT, code=0)
        recorder.close()
        recorder.abandon()
    assert (
        f", from #4 {end}, with session/new #4 unanswered"
        in run("inspect", "show", recorder.path).stdout
    )
    if not closed:
        recorder.abandon()


def test_a_crash_has_its_last_words_beside_it(tmp_path: Path) -> None:
    """If the agent crashed, `show` prints the last lines of stderr below the problem."""
    recorder = LogWriter(tmp_path / "x.db")
    handshake(recorder)
    recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
    for number in range(9):
        recorder.stderr(f"line {number}")
    recorder.event(capture_log.EXIT, signal=6)
    recorder.close()
    recorder.finish()
    top, words, *_ = run("inspect", "show", recorder.path).stdout.split("\n\n")
    assert "[agent.ended by the agent]" in top
    assert words == "stderr  (the last 5 of 9 lines)" + "".join(
        f"\n  line {number}" for number in range(4, 9)
    )


def test_an_answer_may_be_missing(tmp_path: Path) -> None:
    """If a damaged recording lacks the answer to `initialize`, `show` still exits with 0 or 1."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        recorder.close()
        recorder.finish()
    alter(recorder.path, "DELETE FROM frame_rows WHERE kind = 3")
    assert run("show", recorder.path).exit_code in (0, 1)
