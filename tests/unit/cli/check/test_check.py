"""``check`` reports broken rules with side and frame, and can gate CI."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import complaint, run
from tests.support.example_checker import text_form_of

ROOT = Path(__file__).parents[4]
HANDSHAKE = [
    '-> #0 initialize {"protocolVersion": 1, "clientCapabilities": {},'
    ' "clientInfo": {"name": "ed", "version": "1"}}',
    '<- #0 result {"protocolVersion": 1, "agentCapabilities": {},'
    ' "agentInfo": {"name": "ag", "version": "1"}}',
]
REUSED = [
    *HANDSHAKE,
    '-> #1 session/new {"cwd": "/proj/app", "mcpServers": []}',
    '-> #1 session/new {"cwd": "/proj/app", "mcpServers": []}',
    '<- #1 result {"sessionId": "s"}',
]


def written(path: Path, lines: list[str]) -> Path:
    """Writes a conversation as the text form of a recording that ends when the client leaves."""
    ending = [] if any(line.startswith("== ") for line in lines) else ["== client leaves"]
    path.write_bytes(b"".join(text_form_of([*lines, *ending])))
    return path


def findings(*arguments: str | Path) -> list[dict[str, Any]]:
    """Returns the findings of a check as JSON."""
    report = json.loads(run("check", "--json", *arguments).stdout)
    return [finding for recording in report["recordings"] for finding in recording["findings"]]


def test_a_broken_rule_is_shown_with_its_frames(tmp_path: Path) -> None:
    """`check` prints each broken rule with the side and the frame that broke it."""
    path = written(tmp_path / "x.jsonl", REUSED)
    result = run("inspect", "check", path)
    assert result.exit_code == 1
    assert "✗ rpc.id-reused  by the client\n" in result.stdout
    assert "An id is not reused while its request is open. (JSON-RPC 2.0)" in result.stdout
    assert re.search(r"^    #4 +session/new +.*\(see #3\)$", result.stdout, re.MULTILINE)
    assert run("check", path).stdout == result.stdout


def test_writing_a_file_changes_nothing_that_is_printed(tmp_path: Path) -> None:
    """`check` prints the same text with and without a report file."""
    (tmp_path / "recordings").mkdir()
    written(tmp_path / "recordings" / "a.jsonl", HANDSHAKE)
    written(tmp_path / "recordings" / "b.jsonl", REUSED)
    written(tmp_path / "recordings" / "c.jsonl", [HANDSHAKE[0], "== recorder is killed"])
    (tmp_path / "recordings" / "d.db").write_bytes(b"SQLite format 3\0" + b"x" * 200)
    plain = run("check", tmp_path / "recordings")
    report = run("check", tmp_path / "recordings", "--junit", tmp_path / "c.xml")
    assert (tmp_path / "c.xml").exists()
    assert report.exit_code == plain.exit_code == 2
    assert report.stderr == plain.stderr
    *lines, summary = report.stdout.splitlines()
    *others, total = plain.stdout.splitlines()
    assert lines == others
    assert [line.split()[0] for line in lines] == ["findings", "incomplete", "unreadable"]
    assert summary.partition(";")[0] == total.partition(";")[0]
    assert summary.startswith("4 recordings: 1 clean, 1 has findings, ")


def test_known_findings_of_a_directory_do_not_count(tmp_path: Path) -> None:
    """`check` of a directory calls a recording clean if its findings are all in the baseline."""
    (tmp_path / "recordings").mkdir()
    written(tmp_path / "recordings" / "a.jsonl", HANDSHAKE)
    written(tmp_path / "recordings" / "b.jsonl", REUSED)
    known = ("--baseline", tmp_path / "known.json")
    result = run("check", tmp_path / "recordings", *known, "--update-baseline")
    assert result.stdout.startswith("2 recordings: 2 clean; ")
    result = run("check", tmp_path / "recordings", *known)
    assert result.exit_code == 0
    assert result.stdout.startswith("2 recordings: 2 clean; ")
    result = run("check", tmp_path / "recordings", "--top", "1")
    assert "no rule is broken" not in result.stdout
    assert "\n✗ rpc.id-reused  by the client\n" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("2 recordings: ✗ ")


def test_where_nothing_is_wrong_one_line_says_so(tmp_path: Path) -> None:
    """`check` prints one line about a clean recording."""
    result = run("check", written(tmp_path / "x.jsonl", HANDSHAKE))
    assert result.exit_code == 0
    assert re.fullmatch(
        r"judged  \(c0ffee000001\)  nothing is wrong: \d+ rules of v1, 2 frames\n",
        result.stdout,
    )


def test_what_is_wrong_with_the_conversation_is_told_with_the_rules(tmp_path: Path) -> None:
    """`check` lists an unanswered prompt together with the broken rules."""
    lines = [
        *HANDSHAKE,
        '-> #1 session/new {"cwd": "/proj/app", "mcpServers": []}',
        '<- #1 result {"sessionId": "s"}',
        '-> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}]}',
    ]
    hung = run("check", written(tmp_path / "x.jsonl", [*lines, "== client leaves"])).stdout
    assert "- wait.unanswered  nobody to blame: the client left while the agent was at" in hung
    assert 'the agent never answered session/prompt "hi" (#5)' in hung
    said = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}}
    update = f"<- session/update {json.dumps({'sessionId': 's', 'update': said})}"
    completed = [*lines, update, '<- #2 result {"stopReason": "end_turn"}', "== client leaves"]
    assert "session/prompt" not in run("check", written(tmp_path / "y.jsonl", completed)).stdout
    gone = run("check", written(tmp_path / "z.jsonl", [*lines, "== agent exits"])).stdout
    assert "✗ agent.ended  by the agent" in gone
    assert "unanswered" not in gone  # nobody waits for an agent that is gone


@pytest.mark.parametrize(
    ("lines", "code", "rule"),
    [
        ([HANDSHAKE[0], "== 120 seconds pass", "== client leaves"], 1, "wait.unanswered"),
        (["== client leaves"], 1, "recording.empty"),
        ([HANDSHAKE[0], "== recorder is killed"], 3, "recording.incomplete"),
        ([*REUSED, "== recorder is killed"], 3, "rpc.id-reused"),
    ],
)
def test_a_conversation_that_failed_fails_the_check(
    tmp_path: Path, lines: list[str], code: int, rule: str
) -> None:
    """`check` fails if a request is unanswered, or if the recording is empty or incomplete."""
    path = written(tmp_path / "x.jsonl", lines)
    result = run("check", path)
    assert result.exit_code == code
    assert f"✗ {rule}  " in result.stdout


def test_a_recording_without_its_end_says_why_the_exit_code_is_3(tmp_path: Path) -> None:
    """If a recording is incomplete, `check` exits with 3 and prints the reason."""
    path = written(tmp_path / "x.jsonl", [*HANDSHAKE, "== recorder is killed"])
    result = run("check", path)
    assert result.exit_code == 3
    assert "nothing is wrong" in result.stdout
    assert "limits      the recorder was killed" in result.stdout


def test_a_recorder_that_was_killed_says_whose_answer_is_missing(tmp_path: Path) -> None:
    """If the recorder was killed, `check` still says whose answer is missing."""
    path = written(tmp_path / "x.jsonl", [HANDSHAKE[0], "== recorder is killed"])
    text = "the recording ends before the agent answered initialize (#1)"
    assert text in [finding["text"] for finding in findings(path)]


def test_an_end_that_an_import_has_lost_is_no_failure(tmp_path: Path) -> None:
    """In an imported log without an end, an unanswered request is only a hint of `check`."""
    lines = ["== an excerpt begins", *HANDSHAKE, REUSED[2]]
    path = written(tmp_path / "x.jsonl", lines)
    assert run("check", path).exit_code == 0
    assert {finding["severity"] for finding in findings(path, "--rule", "wait")} == {"info"}


def test_json_has_all_of_it(tmp_path: Path) -> None:
    """The output of `check --json` has the rule, side and frame of each finding."""
    path = written(tmp_path / "x.jsonl", REUSED)
    result = run("check", "--json", path, path)
    report = json.loads(result.stdout)
    assert report["exit"] == result.exit_code == 1
    assert report["counts"]["error"] == 2 * report["recordings"][0]["counts"]["error"]
    finding = next(f for f in report["recordings"][1]["findings"] if f["rule"] == "rpc.id-reused")
    assert (finding["by"], finding["seq"], finding["related"], finding["severity"]) == (
        "client",
        4,
        [3],
        "error",
    )
    assert finding["source"] == ["JSON-RPC 2.0"]


def test_rules_are_chosen(tmp_path: Path) -> None:
    """`check --rule` tests only the named rule; `--ignore-rule` skips rules by pattern or group."""
    path = written(tmp_path / "x.jsonl", REUSED)
    assert {finding["rule"] for finding in findings(path, "--rule", "rpc.id-reused")} == {
        "rpc.id-reused"
    }
    assert findings(path, "--ignore-rule", "rpc.*", "--ignore-rule", "wait") == []
    assert complaint("check", "--rule", "rcp", path).startswith("no rule is named 'rcp'")


@pytest.mark.parametrize(
    ("fail_on", "code"), [("never", 0), ("error", 1), ("warning", 1), ("info", 1)]
)
def test_what_fails_can_be_chosen(tmp_path: Path, fail_on: str, code: int) -> None:
    """`check --fail-on` sets the lowest severity of findings with which `check` fails."""
    path = written(tmp_path / "x.jsonl", REUSED)
    assert run("check", path, "--fail-on", fail_on, "--rule", "rpc.id-reused").exit_code == code


def test_a_hint_is_no_failure_by_default(tmp_path: Path) -> None:
    """Without options, `check` exits with 0 if all findings are hints."""
    lines = [re.sub(r', "(client|agent)Info": \{[^}]*\}', "", line) for line in HANDSHAKE]
    path = written(tmp_path / "x.jsonl", lines)
    assert {finding["severity"] for finding in findings(path)} == {"info"}
    assert run("check", path).exit_code == 0
    assert run("check", path, "--fail-on", "info").exit_code == 1


def test_a_baseline_makes_findings_known(tmp_path: Path) -> None:
    """`check` does not fail because of findings that are in the baseline."""
    path, known = written(tmp_path / "x.jsonl", REUSED), tmp_path / "known.json"
    made = run("check", path, "--baseline", known, "--update-baseline")
    assert made.exit_code == 0
    assert f"written to {known}" in made.stderr
    again = run("check", path, "--baseline", known)
    assert again.exit_code == 0
    assert re.search(r"nothing new, \d known: ", again.stdout)
    assert all(finding["known"] for finding in findings(path, "--baseline", known))
    more = written(tmp_path / "y.jsonl", [*REUSED, '<- {"jsonrpc": "2.0", "id": 9}'])
    assert run("check", more, "--baseline", known).exit_code == 1
    assert {
        finding["rule"] for finding in findings(more, "--baseline", known) if not finding["known"]
    } == {"rpc.no-result-or-error"}


def test_a_bad_baseline_is_one_line(tmp_path: Path) -> None:
    """`check` refuses an invalid baseline file with an error of one line."""
    path, known = written(tmp_path / "x.jsonl", REUSED), tmp_path / "known.json"
    assert "cannot read" in complaint("check", path, "--baseline", known)
    known.write_text("{", encoding="utf-8")
    for more in ((), ("--update-baseline",)):
        assert "it is not JSON" in complaint("check", path, "--baseline", known, *more)
    assert known.read_text(encoding="utf-8") == "{"
    assert "expected --baseline" in complaint("check", path, "--update-baseline")
    before = path.read_bytes()
    assert complaint("check", path, "--baseline", path, "--update-baseline")
    assert path.read_bytes() == before


def test_a_dialect_can_be_forced(tmp_path: Path) -> None:
    """`check --dialect` replaces the detected dialect, and the report says so."""
    path = written(tmp_path / "x.jsonl", REUSED)
    report = json.loads(run("check", "--json", "--dialect", "v2", path).stdout)
    assert report["recordings"][0]["dialect"] == "v2"
    assert report["recordings"][0]["dialect_reason"] == "forced by --dialect"


def test_a_recording_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    """`check` goes on with the other recordings after an unreadable one, and exits with 2."""
    path = written(tmp_path / "x.jsonl", HANDSHAKE)
    result = run("check", tmp_path / "none.db", path)
    assert result.exit_code == 2
    assert "nothing is wrong" in result.stdout
    assert result.stderr.count("\n") == 1


def test_a_rule_is_explained() -> None:
    """`check --explain` prints a rule with a good and a bad example."""
    told = run("check", "--explain", "rpc.id-reused").stdout
    assert told.startswith("rpc.id-reused\n  An id is not reused while its request is open.\n")
    for word in ("JSON-RPC 2.0", "keeps it, after a v1 handshake", "breaks it, after", "-> #2"):
        assert word in told
    assert "is not checked: " in run("check", "--explain", "secret.leaked").stdout
    assert "https://www.jsonrpc.org/specification" in told
    assert "did you mean rpc.id-type?" in complaint("check", "--explain", "rpc.id-tpye")
    assert "combined with report options" in complaint(
        "check", "--explain", "rpc.id-type", "--json"
    )


def test_a_rule_that_no_specification_states_says_so() -> None:
    """If no specification states a rule, `check --explain` says that it is a rule of acp-proxy."""
    explained = run("check", "--explain", "turn.refusal").stdout
    assert "source      a rule of acp-proxy\n" in explained
    assert "\npage " not in explained


@pytest.mark.parametrize("name", ["meta", "meta.*"])
def test_the_rules_of_a_group_are_listed(name: str) -> None:
    """`check --explain` with a group lists the rules of the group."""
    lines = run("check", "--explain", name).stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["meta.type", "meta.root-field", "meta.trace"]


def test_a_hint_cannot_be_less_severe() -> None:
    """`check --explain` prints "or less severe" after a rule's severity, but not after a hint's."""
    assert "severity    info\n" in run("check", "--explain", "meta.trace").stdout
    assert "severity    error, or less" in run("check", "--explain", "rpc.version").stdout


def test_no_rule_at_all_is_no_clean_result(tmp_path: Path) -> None:
    """If `check --rule v2` gets a recording of v1, the result is "not checked" and not "clean"."""
    path = written(tmp_path / "x.jsonl", REUSED)
    assert run("check", path, "--rule", "v2").stdout == (
        "judged  (c0ffee000001)  not checked: no chosen rule belongs to v1\n"
    )
    assert "2 recordings: nothing was checked\n" in run("check", path, path, "--rule", "v2").stdout


def test_a_baseline_is_written_only_if_all_recordings_can_be_read(tmp_path: Path) -> None:
    """If a recording is unreadable, `check --update-baseline` does not change the baseline."""
    path, known = written(tmp_path / "x.jsonl", REUSED), tmp_path / "known.json"
    run("check", path, "--baseline", known, "--update-baseline")
    before = known.read_bytes()
    result = run("check", tmp_path / "none.db", "--baseline", known, "--update-baseline")
    assert result.exit_code == 2
    assert f"{known} was not changed" in result.stderr
    assert known.read_bytes() == before


def test_the_total_does_not_call_known_findings_none(tmp_path: Path) -> None:
    """If the baseline has all findings, the last line of `check` says "nothing new"."""
    path, known = written(tmp_path / "x.jsonl", REUSED), tmp_path / "known.json"
    run("check", path, path, "--baseline", known, "--update-baseline")
    last = run("check", path, path, "--baseline", known).stdout.splitlines()[-1]
    assert re.fullmatch(r"2 recordings: nothing new, \d known", last)


def test_the_example_of_the_manual_is_what_is_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The output of `check` that its manual page shows is the output that the command prints."""
    monkeypatch.chdir(ROOT)
    manual = (ROOT / "docs/commands/check.md").read_text(encoding="utf-8")
    example = r"^```\n\$ acp-proxy (check recordings/crash\.db)\n(.*?)^```"
    (shown,) = re.findall(example, manual, re.MULTILINE | re.DOTALL)
    printed = run(*shown[0].split()).stdout
    assert re.sub(r"\d+ rules", "… rules", printed) == shown[1]


def test_another_protocol_is_said_to_be_one(tmp_path: Path) -> None:
    """`check` says of a recording of MCP that the recording is not of ACP."""
    lines = [
        '-> #0 initialize {"protocolVersion": "2025-06-18", "capabilities": {},'
        ' "clientInfo": {"name": "ed", "version": "1"}}'
    ]
    result = run("check", written(tmp_path / "x.jsonl", lines))
    assert "limits      this is not ACP: initialize looks like that of MCP" in result.stdout
