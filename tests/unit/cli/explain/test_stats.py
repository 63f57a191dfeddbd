"""``stats`` prints how time was spent, as a screen and as JSON."""

from __future__ import annotations

import json
import re
import shlex
import time
from pathlib import Path
from typing import Any

import pytest

from acp_proxy.cli.screens.styled_text import columns_of
from tests.support import captures
from tests.support.command_line import complaint, run
from tests.support.log_writer import (
    MS,
    WALL_NS,
    LogWriter,
    handshake,
    record_conversation,
    request,
    result,
    text,
    update,
)
from tests.support.shipped_recordings import DIRECTORY
from tests.support.waiting_chat import SECOND, record_waiting_chat

SCREENS = Path(__file__).parents[3] / "data" / "stats"


@pytest.fixture
def waiting_chat(tmp_path: Path) -> Path:
    """A recording with a turn of a minute."""
    return record_waiting_chat(tmp_path / "minute.db").path


def screen(
    monkeypatch: pytest.MonkeyPatch, columns: int | None, *arguments: str | Path, **env: str
) -> str:
    """Returns the output on a terminal with that many columns, or in a pipe without a width."""
    monkeypatch.setattr("acp_proxy.cli.screens.output.width", lambda: columns)
    result = run("inspect", "stats", *arguments, home=None, **env)
    assert result.exit_code == 0
    assert result.stderr == ""
    return result.stdout


def plain(text_: str) -> str:
    """Returns a text without colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text_)


def values(path: Path, *arguments: str | Path) -> Any:
    """Returns the output with ``--json``, decoded."""
    result = run("inspect", "stats", "--json", path, *arguments)
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


@pytest.mark.parametrize("columns", [80, 160, None])
def test_screens_match_the_golden_files(
    monkeypatch: pytest.MonkeyPatch, waiting_chat: Path, columns: int | None
) -> None:
    """The output of `stats` is exactly as expected on terminals of two widths and in a pipe."""
    golden = SCREENS / f"{columns or 'pipe'}.txt"
    assert screen(monkeypatch, columns, waiting_chat) == golden.read_text(encoding="utf-8")


def test_the_parts_of_another_turn_can_be_asked_for(
    monkeypatch: pytest.MonkeyPatch, waiting_chat: Path
) -> None:
    """`stats --turn 2` prints the parts of turn 2 in place of those of the slowest turn."""
    slowest, named = (
        screen(monkeypatch, None, waiting_chat, *more) for more in ((), ("--turn", "2"))
    )
    assert "turn 1: 57.3 s, end_turn" in slowest
    assert "turn 2: 26.0 s, never ended" in named
    assert slowest.partition("\nturn ")[0] == named.partition("\nturn ")[0]


@pytest.mark.parametrize("columns", [1, 39, 80, 110, 400])
@pytest.mark.parametrize("color", ["", "1"])
def test_no_line_is_wider_than_the_terminal(
    monkeypatch: pytest.MonkeyPatch, waiting_chat: Path, columns: int, color: str
) -> None:
    """No line of `stats` is wider than the terminal, with colours or without."""
    for line in screen(monkeypatch, columns, waiting_chat, FORCE_COLOR=color).splitlines():
        assert columns_of(plain(line)) <= columns


def test_big_numbers_can_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`stats` separates thousands by commas."""
    with LogWriter(tmp_path / "x.db") as recorder:
        for _ in range(1200):
            recorder.stderr("x")
        recorder.t_ns += 3 * 3600 * SECOND
        recorder.stderr("x")
    out = screen(monkeypatch, None, recorder.path)
    assert out.startswith("x  3 h 0 min, 1,201 frames, 1.2 kB\nno prompt was sent\n\nmethods\n")
    assert re.search(r"^  !  \(stderr\)  +1,201  1\.2 kB  █ +▁$", out, re.MULTILINE)


def test_frames_without_times_take_no_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """If the frames of a text form have no times, `stats` prints the time in turns as `<1 µs`."""
    header, *lines = run(
        "inspect", "export", record_conversation(tmp_path / "x.db")
    ).stdout.splitlines()
    frames = [json.loads(line) for line in lines]
    for frame in frames:
        frame.pop("t_ns", None)
        frame.pop("after_ms", None)
    said = json.loads(header)
    said["recording"].pop("ended_at", None)
    path = tmp_path / "x.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (said, *frames)), encoding="utf-8")
    out = screen(monkeypatch, None, path)
    assert "\n<1 µs before the first prompt, <1 µs in turns\n" in out


def test_turns_and_calls_beyond_the_top_are_only_counted(
    monkeypatch: pytest.MonkeyPatch, waiting_chat: Path
) -> None:
    """If `stats --top 1` leaves out turns and tool calls, it prints how many."""
    out = screen(monkeypatch, None, waiting_chat, "--top", "1")
    assert "  … and 1 lighter tool call, see --top\n" in out
    assert "  … and 1 quicker turn, see --top\n" in out
    assert "try again" not in out


@pytest.mark.parametrize(
    ("name", "facts", "title", "row"),
    [
        ("claude-agent-acp-0.101.0", "120 of 1.0M tokens · 1.8k in, 360 out · $0.031",
         "turns", r" 400 +80 +\$0\.0056 .*\[\[tools"),
        ("copilot-1.0.102", "10k of 128k tokens · 1.6k in, 320 out",
         "turns, with the tokens of the session so far", r" 500 +100 .*\[\[tools"),
    ],
)  # fmt: skip
def test_turns_have_the_tokens_that_the_agent_reported(
    monkeypatch: pytest.MonkeyPatch, name: str, facts: str, title: str, row: str
) -> None:
    """If the agent reported tokens and cost, `stats` prints them for each turn."""
    out = screen(monkeypatch, None, captures.ROOT / f"{name}.jsonl").splitlines()
    assert out[1] == facts
    assert title in out
    assert any(re.search(row, line) for line in out)


def test_a_filter_restricts_what_is_counted(waiting_chat: Path) -> None:
    """`stats` with a filter counts only matching frames and the turns that they belong to."""
    statistics = values(waiting_chat, "method:fs/* or kind:stderr")
    (method,) = statistics["methods"]
    assert (method["method"], method["frames"], method["requests"]) == ("fs/read_text_file", 2, 1)
    assert (method["errors"], method["p50_ns"]) == (1, 201 * MS)
    assert [turn["id"] for turn in statistics["turns"]] == [1]
    assert statistics["turns"] == values(waiting_chat)["turns"][:1]
    assert statistics["tool_calls"] == []


def test_a_filter_without_matches_is_reported(waiting_chat: Path) -> None:
    """If no frame matches the filter, `stats` reports this on stderr."""
    result = run("inspect", "stats", waiting_chat, "method:nothing")
    assert result.exit_code == 0
    assert result.stderr == "acp-proxy: 0 of 69 frames match method:nothing\n"
    assert "methods" not in result.stdout


def test_an_unknown_turn_is_refused(waiting_chat: Path, tmp_path: Path) -> None:
    """The error of `stats` about an unknown turn says how many turns there are."""
    assert (
        complaint("inspect", "stats", waiting_chat, "--turn", "3")
        == f"no turn 3 in {waiting_chat}; number of turns: 2"
    )
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
    said = complaint("inspect", "stats", recorder.path, "--turn", "1")
    assert said == f"no turn 1 in {recorder.path}; number of turns: 0"


def test_a_turn_beyond_the_filter_can_be_laid_out(waiting_chat: Path) -> None:
    """`stats --turn` can show a turn that the filter leaves out."""
    statistics = values(waiting_chat, "turn:1", "--turn", "2")
    assert [turn["id"] for turn in statistics["turns"]] == [1]
    assert statistics["waterfall"]["turn"] == 2


def test_numbers_are_exact(waiting_chat: Path) -> None:
    """The numbers in `stats --json`, such as the times of a turn, are exactly as recorded."""
    statistics = values(waiting_chat)
    first, two = statistics["turns"]
    assert first["prompt"] == "please run the tests 请运行测试 😀 and fix what fails"
    assert first["first_update_ns"] == first["first_chunk_ns"] == 3001 * MS
    assert (first["person_ns"], first["terminals_ns"], first["files_ns"]) == (
        31001 * MS,
        9204 * MS,
        0,
    )
    assert first["silent_ns"] == (3001 + 1 + 1 + 1 + 6001) * MS
    assert first["duration_ns"] == first["agent_ns"] + first["client_ns"]
    assert two["open"]
    assert two["person_ns"] == 25_004 * MS
    heaviest, other = statistics["tool_calls"]
    assert (heaviest["tool_call"], heaviest["frames"], heaviest["status"]) == ("c-1", 4, "failed")
    assert (other["title"], other["duration_ns"]) == ("rm -rf /", 0)
    assert statistics["tool_call_count"] == 2
    assert statistics["waterfall"]["turn"] == 1
    whole = statistics["time"]
    assert sum(whole.values()) == statistics["duration_ns"]
    assert sum(method["bytes"] for method in statistics["methods"]) == statistics["bytes"]


def test_a_silence_is_named_as_show_names_it(tmp_path: Path) -> None:
    """If an agent is silent during a tool call, `stats` and `show` name the call as the reason."""
    hang = DIRECTORY / "hang.db"
    assert "4.0 s, 100% call pytest -q" in run("show", hang).stdout
    told = run("stats", hang).stdout
    assert "\n  call pytest -q    4.0 s   100%" in told
    assert re.search("^  turn +took +first +agent, call  ", told, re.MULTILINE)
    assert "agent silent" in run("stats", DIRECTORY / "late-updates.db").stdout
    for other_ms, name in ((3_000, "call pytest"), (5_000, "agent silent")):
        with LogWriter(tmp_path / f"{other_ms}.db") as recorder:
            handshake(recorder)
            recorder.to_agent(request(2, "session/prompt", sessionId="s"))
            recorder.t_ns += other_ms * MS
            recorder.to_client(update("s", "agent_message_chunk", content=text("hm")))
            recorder.t_ns += other_ms * MS
            call = {"toolCallId": "c", "title": "pytest", "status": "in_progress"}
            recorder.to_client(update("s", "tool_call", **call))
            recorder.t_ns += 7_000 * MS
            recorder.to_client(result(2, stopReason="end_turn"))
            recorder.close()
            recorder.finish()
        assert f"% {name}" in run("show", recorder.path).stdout
        assert f"\n  {name} " in run("stats", recorder.path).stdout


def test_an_open_turn_counts_until_now(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In a running recording, `stats` counts an open turn up to the present moment."""
    recorder = record_waiting_chat(tmp_path / "x.db", finished=False)
    monkeypatch.setattr(time, "time_ns", lambda: WALL_NS + 3600 * SECOND)
    try:
        statistics = values(recorder.path)
        out = run("inspect", "stats", recorder.path).stdout
    finally:
        recorder.abandon()
    assert statistics["live"]
    assert statistics["duration_ns"] == 3600 * SECOND
    turn = statistics["turns"][1]
    assert turn["start_ns"] + turn["duration_ns"] == 3600 * SECOND
    assert turn["open"]
    assert "permission  rm -rf / [open]" in out
    assert "unanswered" not in out


def test_help_has_valid_examples(tmp_path: Path) -> None:
    """The examples in the help of `stats` are commands that run without an error."""
    path = record_conversation(tmp_path / "latest.db")
    shown = run("inspect", "stats", "--help-all").stdout
    examples = re.findall(r"^ +acp-proxy (stats latest[^|\n]*)", shown, re.MULTILINE)
    assert len(examples) >= 4
    for words in examples:
        asked = shlex.split(words.replace("--turn 3", "--turn 1"))
        assert run("inspect", *asked, home=path.parent).exit_code == 0
