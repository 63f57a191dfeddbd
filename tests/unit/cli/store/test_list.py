"""``list``, ``inspect`` and ``acp-proxy`` without a command list the recordings."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sqlite3
import time
from itertools import takewhile
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.wording import byte_size
from acp_proxy.cli.screens.styled_text import columns_of
from acp_proxy.recording import log_format as capture_log
from acp_proxy.store.files.annotations import set_note
from tests.support import captures
from tests.support.command_line import complaint, run
from tests.support.log_writer import (
    MS,
    ORIGIN_NS,
    STARTED_AT,
    LogWriter,
    handshake,
    record_conversation,
    request,
    text,
    write_conversation,
)
from tests.support.text_recordings import text_of

if TYPE_CHECKING:
    from pathlib import Path

UNCHECKED = "; not checked for broken rules (--check)"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recordings directory; the current directory is elsewhere."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    directory = tmp_path / "recordings"
    directory.mkdir()
    return directory


def test_a_list_has_a_line_for_each_and_the_total(home: Path) -> None:
    """`list` prints a line for each recording, the newest first, and then their number and size."""
    size = record_conversation(home / "old.db", id="aaaaaa1", wall=10**18).stat().st_size
    record_conversation(home / "new.db", id="bbbbbb1")
    result = run("inspect", "list", home=home)
    head, new, old, total = result.stdout.splitlines()
    assert " ".join(head.split()) == (
        "ID NAME WHEN TOOK DIRECTORY AGENT CLIENT STATE EXIT WHAT IS WRONG FRAMES TURNS SIZE NOTE"
        " FIRST PROMPT"
    )
    assert " ".join(new.split()) == (
        "bbbbbb new 2025-06-15 15:06:40 23 ms /srv/project ag 3.4 ed 1.2 complete 3 18 1"
        f" {byte_size(size)} hello 你好"
    )
    assert old.split()[:4] == ["aaaaaa", "old", "2001-09-09", "01:46:40"]
    assert total == f"2 recordings, {2 * size / 1000:.0f} kB in {home}{UNCHECKED}"
    assert result.stderr == ""
    assert result.exit_code == 0


def test_an_agent_without_a_name_is_called_after_its_command(home: Path) -> None:
    """If an agent has sent no name, `list` takes the name from the agent's command."""
    with LogWriter(home / "x.db", arg=["npx", "-y", "@zed-industries/codex-acp"]) as recorder:
        recorder.end()
    line = run("inspect", "list", home=home).stdout.splitlines()[1]
    assert " codex-acp " in line


def test_columns_are_aligned_with_wide_characters(home: Path) -> None:
    """The columns of `list` are aligned even if a name has wide characters."""
    record_conversation(home / "你好.db", name="你好你好")
    record_conversation(home / "plain.db", name="plain")
    lines = run("inspect", "list", home=home).stdout.splitlines()[1:3]
    assert len({columns_of(line[: line.index("ag 3.4")]) for line in lines}) == 1


def test_a_running_recording_is_marked(home: Path) -> None:
    """`list` marks a recording as running while its recorder runs."""
    with LogWriter(home / "x.db") as recorder:
        write_conversation(recorder)
        line = run("inspect", "list", home=home).stdout.splitlines()[1]
    assert " ed 1.2 running 3 18 " in " ".join(line.split())


def test_a_signal_is_shown_in_place_of_the_exit_code(home: Path) -> None:
    """If a signal killed an agent, `list` shows the signal's number in place of an exit code."""
    with LogWriter(home / "x.db") as recorder:
        recorder.event(6, signal=9)
    assert " sig 9 " in run("inspect", "list", home=home).stdout


def test_a_list_of_another_directory(home: Path, tmp_path: Path) -> None:
    """`list DIR` lists the recordings in DIR, not those in the recordings directory."""
    (tmp_path / "other").mkdir()
    record_conversation(tmp_path / "other" / "x.db")
    assert " x " in run("inspect", "list", tmp_path / "other", home=home).stdout
    assert " x " not in run("inspect", "list", home=home).stdout


def test_a_list_of_a_path_that_is_not_a_directory(home: Path) -> None:
    """`list` of a path that is not a directory is a usage error."""
    path = record_conversation(home / "x.db")
    for word in (path, home / "nowhere"):
        answer = complaint("inspect", "list", word, home=home)
        assert answer == f"{word} is not a directory; expected a directory of recordings"


def test_an_empty_list_is_not_an_error(home: Path) -> None:
    """Without recordings, `list` prints only one line on stderr, and exits with 0."""
    for arguments in (["list"], ["list", str(home)]):
        result = run("inspect", *arguments, home=home)
        assert (result.exit_code, result.stdout) == (0, "")
        assert result.stderr == (
            f"acp-proxy: no recordings in {home}; put `acp-proxy record --` before an agent's"
            " command to make one there\n"
        )
    result = run("inspect", "list", "--json", home=home)
    assert (result.exit_code, result.output) == (0, "")


def test_a_broken_recording_does_not_hide_the_others(home: Path) -> None:
    """`list` names an unreadable file on stderr, and lists the other recordings."""
    record_conversation(home / "good.db")
    (home / "text.db").write_text("hello")
    (home / "empty.db").touch()
    result = run("inspect", "list", home=home)
    assert result.exit_code == 0
    assert " good " in result.stdout
    total = result.stdout.splitlines()[-1]
    assert total.startswith("1 recording, ")
    assert total.endswith(f" in {home}; 2 files cannot be read{UNCHECKED}")
    assert result.stderr.splitlines() == [
        f"acp-proxy: cannot read {home}/empty.db as a recording: it is empty",
        f"acp-proxy: cannot read {home}/text.db as a recording: it is not a SQLite database",
    ]


def test_the_list_reports_a_lost_log(home: Path) -> None:
    """If the capture log of a running recording is missing, `list` prints a warning."""
    with LogWriter(home / "x.db") as recorder:
        handshake(recorder)
        recorder.index()
    recorder.log_path.unlink()
    result = run("inspect", "list", home=home)
    assert " recording " in result.stdout.splitlines()[1]
    assert "is missing: frames not yet indexed are lost" in result.stderr


def test_a_run_of_verify_is_marked(home: Path) -> None:
    """`list` marks a recording that was made by `verify`."""
    record_conversation(home / "x.db", made_by="verify")
    assert " by verify" in run("inspect", "list", home=home).stdout.splitlines()[1]
    (line,) = run("inspect", "list", "--json", home=home).stdout.splitlines()
    assert json.loads(line)["made_by"] == "verify"


def test_a_list_as_json_has_an_object_for_each(home: Path) -> None:
    """`list --json` prints an object for each recording."""
    path = record_conversation(home / "x.db")
    (home / "bad.db").write_text("hello")
    result = run("inspect", "list", "--json", home=home)
    good, bad = (json.loads(line) for line in result.stdout.splitlines())
    assert good["recording"]["started_at"] == STARTED_AT
    del good["recording"]
    findings = good.pop("findings")
    assert [
        (finding["rule"], finding["severity"], finding["by"], finding["seq"])
        for finding in findings
    ] == [
        ("answer.error", "info", None, 12),
        ("wait.unanswered", "info", None, 16),
        ("agent.ended", "info", None, 23),
    ]
    assert good == {
        "path": str(path),
        "live": False,
        "problem": None,
        "has_problem": False,
        "waiting": "",
        "has_faults": False,
        "frames": 18,
        "turns": 1,
        "made_by": None,
        "damaged": [],
        "broken_rules": None,
        "tokens": None,
        "size": path.stat().st_size,
    }
    assert bad["recording"] is None
    assert bad["findings"] is None
    assert bad["problem"].endswith("it is not a SQLite database")
    assert result.stderr == ""


def test_tokens_and_cost_have_columns_if_an_agent_reported_them(home: Path) -> None:
    """`list` has columns for tokens and cost only if an agent has reported tokens."""
    record_conversation(home / "x.db")
    assert "TOKENS" not in run("inspect", "list", home=home).stdout
    for name in ("claude-agent-acp-0.101.0", "copilot-1.0.102", "codex-acp-rust-0.16.0"):
        shutil.copy(captures.ROOT / f"{name}.jsonl", home)
    titles, *rows = run("inspect", "list", home=home).stdout.splitlines()
    at = titles.index("TOKENS    COST")
    shown = [row[at - 12 : at + 14].strip() for row in rows[:4]]
    assert titles.index("SIZE") < at < titles.index("NOTE")
    assert sorted(shown) == [
        "", "1.6k in, 320 out", "1.8k in, 360 out  $0.031", "120 of 258k tokens",
    ]  # fmt: skip
    listed = map(json.loads, run("inspect", "list", "--json", home=home).stdout.splitlines())
    assert sorted((entry["tokens"] or {}).get("input", 0) for entry in listed) == [
        0, 0, 1_600, 1_800,
    ]  # fmt: skip


def test_recordings_can_be_selected(home: Path, tmp_path: Path) -> None:
    """`list` can select recordings by directory, agent, age and number."""
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    now = time.time_ns()
    record_conversation(home / "a.db", wall=now - 3600 * 10**9, cwd=str(project))
    record_conversation(home / "b.db", wall=now - 90000 * 10**9, cwd=str(project / "sub"))
    record_conversation(home / "c.db", wall=10**18, arg=["other-agent"], cwd=f"{project}-two")
    (home / "bad.db").write_text("hello")

    def listed(*arguments: str | Path) -> str:
        lines = run("inspect", "list", *arguments, home=home).stdout.splitlines()
        count = len(lines[1:-1])
        assert lines[-1].startswith(f"{count} of 3 recordings, " if count < 3 else "3 recordings, ")
        return "".join(line[3:].split()[1] for line in lines[1:-1])

    assert listed("--cwd", project) == "ab"
    assert listed("--cwd", project / "sub") == "b"
    assert listed("--agent", "OTHER") == "c"
    assert listed("--since", "2h") == "a"
    assert listed("--since", "2d") == "ab"
    assert listed("--since", "2001-01-01T00:00", "-n", "2") == "ab"
    assert listed("--since", "2001-01-01", "--agent", "ag 3.4") == "abc"


def test_a_list_of_the_current_directory(home: Path, tmp_path: Path) -> None:
    """`list --cwd` without a directory lists only recordings of agents in the current directory."""
    record_conversation(home / "a.db", cwd=str(tmp_path / "here"))
    record_conversation(home / "b.db")
    lines = run("inspect", "list", "--cwd", home=home).stdout.splitlines()
    assert [line[3:].split()[1] for line in lines[1:-1]] == ["a"]


@pytest.mark.parametrize("text", ["yesterday", "2025-13-01", "5x", ""])
def test_an_invalid_time_is_refused(home: Path, text: str) -> None:
    """`list --since` refuses a value such as `yesterday`, which is neither an age nor a date."""
    answer = complaint("inspect", "list", "--since", text, home=home)
    assert f"{text!r} is neither an age such as 2h or 7d nor a date such as 2025-06-15" in answer


@pytest.mark.parametrize("columns", [40, 60, 80, 130, 220])
def test_a_terminal_gets_what_fits(
    home: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """On a terminal, `list` leaves out columns so that no line is wider than the terminal."""
    monkeypatch.setattr("acp_proxy.cli.screens.output.width", lambda: columns)
    record_conversation(home / "你好.db", name="你好" * 30, cwd="/srv/" + "项目" * 40)
    set_note(record_conversation(home / "b.db"), "a note " * 20)
    lines = run("inspect", "list", home=home).stdout.partition("\n2 recordings")[0].splitlines()
    assert max(map(columns_of, lines)) <= columns
    heads = lines[0].split()
    assert {"NAME", "RESULT", "WHEN"} <= {*heads}
    assert ("PROMPT" in heads) == (columns >= 60)
    assert ("NOTE" in heads) == (columns >= 80)
    assert ("SIZE" in heads) == (columns >= 220)


def test_a_terminal_sees_what_is_wrong_in_one_column(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, one coloured column of `list` says how each recording ended or failed."""
    monkeypatch.setattr("acp_proxy.cli.screens.output.width", lambda: 100)
    with LogWriter(home / "failed.db") as failed:
        handshake(failed)
        failed.to_agent(request(1, "session/new", cwd="/srv", mcpServers=[]))
        failed.event(capture_log.EXIT, code=3)
        failed.close()
    with LogWriter(home / "killed.db") as recorder:
        handshake(recorder)
    with LogWriter(home / "live.db"):
        lines = run("inspect", "list", home=home, FORCE_COLOR="1").stdout.splitlines()
    told = {name: line for name in ("failed", "killed", "live") for line in lines if name in line}
    assert "\x1b[38;5;196m✗ exit 3\x1b" in told["failed"]
    assert "\x1b[38;5;130mincomplete" in told["killed"]
    assert "\x1b[38;5;28mrunning: " in told["live"]


def test_a_list_says_what_is_wrong(home: Path) -> None:
    """`list` marks a recording whose agent hung with ✗ and says what is wrong."""
    with LogWriter(home / "hung.db") as hung:
        handshake(hung)
        hung.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
        hung.t_ns += 120_000 * MS
        ends_by_signal(hung)
    with LogWriter(home / "well.db") as well:
        handshake(well)
        ends_by_signal(well)
    lines = {line[3:].split()[1]: line for line in listed(home)}
    assert {name: line[:3] for name, line in lines.items()} == {"hung": "✗  ", "well": "   "}
    assert ' session/prompt "go" (#4) and sent nothing for 2 min' in lines["hung"]
    known = map(json.loads, run("inspect", "list", "--json", home=home).stdout.splitlines())
    assert {k["recording"]["name"]: k["has_problem"] for k in known} == {
        "hung": True,
        "well": False,
    }


def test_a_signal_without_a_problem_is_not_printed_in_red(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a client ended its agent by SIGTERM without a problem, `list` prints nothing in red."""
    monkeypatch.setattr("acp_proxy.cli.screens.output.width", lambda: 100)
    with LogWriter(home / "well.db") as well:
        handshake(well)
        ends_by_signal(well)
    (line,) = listed(home, FORCE_COLOR="1")
    assert " ended " in line
    assert "\x1b[38;5;196m" not in line


def test_a_list_marks_the_runs_in_which_a_fault_fired(home: Path) -> None:
    """If only an injected fault went wrong in a recording, `list` marks the recording with `!`."""
    with LogWriter(home / "x.db") as recorder:
        handshake(recorder)
        recorder.event(capture_log.EFFECT, capture_log.TO_CLIENT, rule="r", action="kill", signal=9)
        recorder.event(capture_log.EXIT, signal=9)
        recorder.close()
    (line,) = listed(home)
    assert line.startswith("!  ")


def test_a_list_says_for_whom_a_running_chat_waits(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a running conversation, `list` says for whom the conversation waits."""
    with LogWriter(home / "x.db") as recorder:
        handshake(recorder)
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
        asked = request("p", "session/request_permission", sessionId="s", toolCall={})
        recorder.to_client(asked)
        now = ORIGIN_NS + recorder.t_ns + 240_000 * MS
        monkeypatch.setattr("time.monotonic_ns", lambda: now)
        (line,) = listed(home)
        (entry,) = map(json.loads, run("inspect", "list", "--json", home=home).stdout.splitlines())
    assert " a person: permission 4 min 0 s " in line
    assert entry["waiting"] == "a person: permission 4 min 0 s"
    assert entry["findings"] == []


def ends_by_signal(recorder: LogWriter) -> None:
    """Ends a recording as if the client had stopped the agent by SIGTERM."""
    recorder.event(capture_log.SIGNAL, signal=15, action="passed on")
    recorder.event(capture_log.EXIT, signal=15)
    recorder.close()


def listed(home: Path, **environment: str) -> list[str]:
    """Returns the rows that `list` prints, without the heading."""
    lines = run("inspect", "list", home=home, **environment).stdout.splitlines()[1:]
    return list(takewhile(lambda line: " recording" not in line, lines))


@pytest.mark.parametrize("arguments", [[], ["inspect"]])
def test_the_overview_shows_the_newest_and_the_next_command(
    home: Path, arguments: list[str]
) -> None:
    """`acp-proxy` without a command lists the newest recordings and suggests a next command."""
    for number in range(7):
        record_conversation(home / f"r{number}.db", wall=(number + 1) * 10**18)
    lines = run(*arguments, home=home).stdout.splitlines()
    assert [line[3:].split()[1] for line in lines[1:6]] == ["r6", "r5", "r4", "r3", "r2"]
    assert lines[6:] == [
        "... and 2 more: acp-proxy list",
        "",
        "Next: acp-proxy show r6",
        "      acp-proxy log r6",
    ]


@pytest.mark.parametrize("arguments", [[], ["inspect"]])
def test_the_overview_without_recordings_says_how_to_begin(
    home: Path, arguments: list[str]
) -> None:
    """Without recordings, `acp-proxy` without a command says how to record an agent."""
    result = run(*arguments, home=home)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"No recordings yet in {home}.\n")
    assert re.search("^    /.*(/acp-proxy|-m acp_proxy) record --$", result.stdout, re.MULTILINE)
    assert "`acp-proxy setup` finds your editors" in result.stdout
    assert result.stderr == ""


def test_the_next_command_follows_a_running_recording(home: Path) -> None:
    """While a recording runs, `acp-proxy` without a command suggests `log --follow`."""
    with LogWriter(home / "x.db"):
        assert run(home=home).stdout.endswith("acp-proxy log x --follow\n")


def test_the_next_command_means_the_newest(home: Path) -> None:
    """If two recordings have one name, `acp-proxy` without a command suggests the newer one."""
    record_conversation(home / "my run.db", id="aaaa", wall=10**18, name="my run")
    record_conversation(home / "my run-2.db", id="bbbb", name="my run")
    assert run(home=home).stdout.splitlines()[-2:] == [
        "Next: acp-proxy show 'my run-2'",
        "      acp-proxy log 'my run-2'",
    ]
    assert "(bbbb)" in run("inspect", "show", "my run-2", home=home).stdout


def test_a_list_of_broken_recordings_says_so(home: Path) -> None:
    """If no recording can be read, `acp-proxy` without a command says why on stderr."""
    (home / "x.db").write_text("hello")
    result = run(home=home)
    assert result.exit_code == 0
    assert "Next:" not in result.stdout
    assert "it is not a SQLite database" in result.stderr


def test_the_directory_is_read_from_the_environment(home: Path, tmp_path: Path) -> None:
    """If ACP_PROXY_RECORDINGS is empty, `list` looks for recordings below XDG_DATA_HOME."""
    record_conversation(home / "x.db")
    data = tmp_path / "data"
    shutil.copytree(home, data / "acp-proxy")
    result = run("inspect", "list", XDG_DATA_HOME=str(data), ACP_PROXY_RECORDINGS="")
    assert result.stdout.endswith(f"in {data}/acp-proxy{UNCHECKED}\n")


ENDS_OF_THE_CALENDAR = (
    "9999-12-31T23:59:59-23:59",
    "0001-01-01T00:00:00+23:59",
    "2025-06-15T15:06:40",
)


@pytest.mark.parametrize("column", ["started_at", "ended_at"])
@pytest.mark.parametrize("text", ENDS_OF_THE_CALENDAR)
def test_an_impossible_date_does_not_break_the_list(home: Path, column: str, text: str) -> None:
    """If a recording has an impossible date, `list` calls the recording damaged."""
    record_conversation(home / "good.db", id="aaaa")
    bad = record_conversation(home / "bad.db", id="bbbb")
    with contextlib.closing(sqlite3.connect(bad)) as connection, connection:
        connection.execute(f"UPDATE recording SET {column} = ?", (text,))
    assert "good" in run("inspect", "list", home=home).stdout
    listed = run("inspect", "list", "--json", home=home).stdout
    assert "it does not say what was recorded" in listed
    assert "good" in run(home=home).stdout
    assert "good" in run("inspect", "list", "--since", "2000-01-01", home=home).stdout
    for words in (["show"], ["log", "--seq", "5"], ["log"], ["diff", "good"]):
        answer = complaint("inspect", words[0], "bad", *words[1:], home=home)
        assert "it does not say what was recorded" in answer


@pytest.mark.parametrize("text", ENDS_OF_THE_CALENDAR)
def test_a_text_with_such_a_date_is_refused(home: Path, text: str) -> None:
    """If a text form has an impossible date, the error of `show` names the line with the date."""
    bad = home / "bad.jsonl"
    made = text_of(record_conversation(home / "good.db"))
    bad.write_bytes(made.replace(STARTED_AT.encode(), text.encode(), 1))
    assert "line 1: expected 'started_at' to be a time such as" in complaint("inspect", "show", bad)
    assert "expected 'started_at'" in run("inspect", "list", "--json", home=home).stdout


def test_a_file_from_the_far_future_can_be_pruned(home: Path) -> None:
    """`prune --dry-run` also lists a recording with a modification time in the far future."""
    path = record_conversation(home / "x.db")
    os.utime(path, (2**38, 2**38))
    result = run("inspect", "prune", "--larger-than", "0kB", "--dry-run", home=home)
    assert result.stdout.startswith("would delete x.db")
