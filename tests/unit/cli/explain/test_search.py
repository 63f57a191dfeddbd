"""``search`` finds a text in recordings."""

from __future__ import annotations

import contextlib
import json
import signal
import sqlite3
from functools import partial
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.errors import BadPattern
from acp_proxy.cli.explain import time_limit
from acp_proxy.store.queries import frame_table
from acp_proxy.store.tables.schema import VERSION
from tests.support.command_line import complaint, run
from tests.support.log_writer import LogWriter, record_conversation, text, update

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recordings directory with two recordings; the current directory has none."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    directory = tmp_path / "recordings"
    directory.mkdir()
    record_conversation(directory / "new.db", id="bbbbbb1")
    record_conversation(directory / "old.db", id="aaaaaa1", wall=10**18)
    return directory


def test_all_recordings_are_searched_newest_first(home: Path) -> None:
    """Without REC or DIR, `search` searches the recordings directory, the newest file first."""
    result = run("inspect", "search", "HELLO 你".lower(), home=home)
    assert result.stdout.splitlines() == [
        "new:6:0.005:to-agent:session/prompt:hello 你好",
        "old:6:0.005:to-agent:session/prompt:hello 你好",
    ]
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "seqs"),
    [
        (["careful"], [13]),
        (["not json"], [17]),
        (["exited with 3"], [23]),
        (["agent --acp"], [1]),
        (["Edit"], [8, 9]),
        (["EDIT"], []),
        (["-i", "EDIT"], [8, 9]),
        (["-s", "edit"], []),
        (["-e", "s[/-]1$"], [5, 6, 7, 8, 9, 11, 14, 16]),
        (["-e", "(hi|edit)\\b", "-w", "params.update.sessionUpdate=tool_call"], [8]),
        (["edit", "-w", "kind:request"], [9]),
        (["end of file", "-w", "kind:event"], [19, 21, 22]),
        (["end of file"], []),
        (["edit", "-m", "1"], [8]),
        (["nothing like it"], []),
    ],
)
def test_the_lines_of_matches(home: Path, arguments: list[str], seqs: list[int]) -> None:
    """`search` prints the messages, stderr lines, invalid lines and events that contain a text.

    It finds events that end a stream only if the filter `kind:event` is given.
    """
    result = run("inspect", "search", *arguments, "new", home=home)
    assert [int(line.split(":")[1]) for line in result.stdout.splitlines()] == seqs
    assert result.exit_code == (0 if seqs else 1)
    assert result.stderr == ""


def test_a_terminal_is_told_that_nothing_was_found(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, `search` without a match names the recordings that it has searched."""
    monkeypatch.setattr("acp_proxy.cli.screens.output.width", lambda: 80)
    result = run("search", "zzz", home=home)
    expected = f"acp-proxy: 0 of 36 frames in 2 recordings ({home}) match 'zzz'\n"
    hint = "acp-proxy: to find names of methods and members, too, put the whole name in double"
    hint += " quotes: '\"zzz\"'\n"
    assert (result.exit_code, result.stdout, result.stderr) == (1, "", expected + hint)
    told = run("search", 'hello"', "new", "-w", "kind:event", home=home).stderr
    expected = "acp-proxy: 0 of 18 frames in 1 recording (new) match 'hello\"' and kind:event\n"
    assert told == expected
    assert run("search", "hello", home=home).stderr == ""
    assert run("search", "no such words", home=home).stderr.count("\n") == 1


def test_a_hit_in_a_name_has_its_method(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a match of `search` is in a method's name, its line on a terminal shows this method."""
    monkeypatch.setattr("acp_proxy.cli.screens.output.width", lambda: 120)
    for pattern in ('"session/request_permission"', "session/request_permission"):
        hit = run("search", pattern, "new", home=home).stdout.splitlines()[1]
        assert hit.split()[2:4] == ["←", "session/request_permission"]
    hit = run("search", "allow", "new", home=home).stdout.splitlines()[1]
    assert "session/request_permission" not in hit


def test_a_terminal_is_told_how_many_hits_there_are(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal, the last line of `search` counts the hits and the recordings with a hit."""
    for arguments in (["hello"], ["edit", "-c"], ["edit", "-l"], ["edit", "--json"]):
        assert " in 2 recordings" not in run("search", *arguments, home=home).stdout
    monkeypatch.setattr("acp_proxy.cli.screens.output.width", lambda: 80)
    last = {
        "edit": "4 hits in 2 recordings",
        "careful": "2 hits in 2 recordings",
        "edit -m 1": "2 hits shown in 2 recordings",
        "edit new": "2 hits in 1 recording",
        "edit new -w kind:request": "1 hit in 1 recording",
    }
    for words, expected in last.items():
        lines = run("search", *words.split(), home=home).stdout.split("\n")
        assert lines[-3:] == ["", expected, ""], words
    with LogWriter(home / "other.db") as recorder:
        recorder.stderr("only here")
        recorder.finish()
    told = run("search", "only here", home=home).stdout
    assert told.endswith(" in 1 of 3 recordings\n")


def test_a_directory_or_several_recordings_are_searched_each_once(home: Path) -> None:
    """`search` searches a recording once, even if it is given by name and by its directory."""
    result = run("inspect", "search", "-l", "hello", home, "old", "aaaa")
    assert result.exit_code == 2
    result = run("inspect", "search", "-l", "hello", "old", home, "aaaa", home=home)
    assert result.stdout.splitlines() == ["old", "new"]
    result = run("inspect", "search", "-l", "hello", home / "old.db")
    assert result.stdout == f"{home}/old.db\n"


def test_counts_are_by_recording(home: Path) -> None:
    """`search --count` prints the number of matches of each recording."""
    result = run("inspect", "search", "-c", "edit", home=home)
    assert result.stdout == "new:2\nold:2\n"
    assert run("inspect", "search", "-c", "edit", "new", home=home).stdout == "2\n"
    result = run("inspect", "search", "-c", "zzz", home=home)
    assert (result.stdout, result.exit_code) == ("new:0\nold:0\n", 1)


def test_json_has_the_place_of_a_match(home: Path) -> None:
    """`search --json` prints an object for each match, with the JSON pointer of its text."""
    result = run("inspect", "search", "--json", "lo 你", "new", home=home)
    assert json.loads(result.stdout) == {
        "path": str(home / "new.db"),
        "recording": "bbbbbb1",
        "seq": 6,
        "last_seq": 6,
        "t_ns": 5_000_000,
        "stream": "to-agent",
        "kind": "request",
        "method": "session/prompt",
        "session": "s-1",
        "turn": 1,
        "tool_call": None,
        "pointer": "/params/prompt/0/text",
        "before": "hel",
        "match": "lo 你",
        "after": "好",
    }
    (event,) = run("inspect", "search", "--json", "exited with", "new", home=home).stdout.split(
        "\n"
    )[:-1]
    assert json.loads(event)["stream"] is None
    assert json.loads(event)["kind"] == "exit"


def test_a_running_recording_is_searched_to_its_last_frame(home: Path) -> None:
    """`search` finds the newest frames of a running recording."""
    with LogWriter(home / "live.db") as recorder:
        recorder.to_client(update("s", "agent_message_chunk", content=text("one pie")))
        recorder.index()
        recorder.to_client(update("s", "agent_message_chunk", content=text("ce, another")))
        result = run("inspect", "search", "piece,", "live", home=home)
    assert result.stdout == "live:2:0.001:to-client:session/update:one piece, another\n"


def test_unreadable_recordings_are_reported_and_the_rest_is_searched(home: Path) -> None:
    """`search` names an unreadable recording on stderr, searches all others, and exits with 2."""
    (home / "text.db").write_text("hello")
    (home / "empty.db").touch()
    newer = record_conversation(home / "newer.db")
    with contextlib.closing(sqlite3.connect(newer)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    damaged = record_conversation(home / "damaged.db")
    damaged.write_bytes(damaged.read_bytes()[:5000] + bytes(80_000))
    result = run("inspect", "search", "-l", "hello", home=home)
    assert result.stdout.splitlines() == ["new", "old"]
    told = result.stderr.splitlines()
    assert [line.partition(" as a recording: ")[0].rpartition("/")[2] for line in told] == [
        "damaged.db",
        "empty.db",
        "newer.db",
        "text.db",
    ]
    assert result.exit_code == 2


def test_an_empty_directory_has_nothing(tmp_path: Path) -> None:
    """`search` finds nothing in an empty or missing recordings directory."""
    for home in (tmp_path, tmp_path / "none"):
        result = run("inspect", "search", "x", home=home)
        assert (result.exit_code, result.output) == (1, "")


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (["-e", "(a"], "bad pattern at column 1: missing ), unterminated subpattern"),
        ([""], "bad pattern: expected a text to search for, got an empty text"),
        (
            ["x", "-w", "kynd:event"],
            "bad filter at column 1: unknown key 'kynd'; did you mean kind?",
        ),
        (["-i", "-s", "x"], "expected --ignore-case or --case-sensitive, got both"),
        (
            ["-c", "-l", "x"],
            "expected one of --json, --count and --files-with-matches, got several",
        ),
    ],
)
def test_wrong_use_is_one_line(home: Path, arguments: list[str], answer: str) -> None:
    """`search` refuses an invalid pattern, filter or pair of options with an error of one line."""
    assert complaint("inspect", "search", *arguments, home=home) == answer


def test_recorded_text_does_not_control_a_terminal(home: Path) -> None:
    """`search` escapes control characters around a match."""
    with LogWriter(home / "evil.db") as recorder:
        recorder.stderr("a \x1b[31mred\x07 word")
        recorder.finish()
    result = run("inspect", "search", "red", "evil", home=home)
    assert result.stdout == "evil:2:0.001:stderr::a \\x1b[31mred\\x07 word\n"


def test_colour_marks_the_match(home: Path) -> None:
    """With FORCE_COLOR, `search` colours the match and nothing else."""
    plain = run("inspect", "search", "hello", "new", home=home).stdout
    colored = run("inspect", "search", "hello", "new", home=home, FORCE_COLOR="1").stdout
    assert colored == plain.replace("hello", "\x1b[1;38;5;196mhello\x1b[0m")


def test_a_huge_line_is_searched_without_being_held(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`search` finds text in a very long line, which it reads in pieces."""
    monkeypatch.setattr(frame_table, "WHOLE_LINE", 100)
    result = run("inspect", "search", "hello 你", "new", home=home)
    assert result.stdout.startswith("new:6:0.005:to-agent:session/prompt:")
    assert "hello 你好" in result.stdout


def test_ctrl_c_ends_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends `search` with the exit code 130, and nothing is printed."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("acp_proxy.explain.search.search.Searcher.feed", interrupt)
    result = run("inspect", "search", "x", home=home)
    assert (result.exit_code, result.output) == (130, "")


def test_a_pattern_that_never_ends_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a pattern takes too long on one frame, `search` stops and names the frame."""
    monkeypatch.setattr(time_limit, "_TICK_S", 0.02)
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(update("s", "agent_message_chunk", content=text("a" * 200 + "!")))
        recorder.close()
        recorder.finish()
    told = complaint("inspect", "search", "-e", "(a+)+$", tmp_path / "x.db")
    assert told == (
        "bad pattern: matching was given up at #2, which took more than 0.02 s of processor time;"
        " avoid repeats within repeats, such as (a+)+"
    )
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) is signal.SIG_DFL


def test_a_search_that_goes_on_has_no_limit() -> None:
    """The time limit of `search` for a pattern holds for each frame, not for the whole search."""
    limit = time_limit.TimeLimit()
    tick = partial(limit._tick, signal.SIGVTALRM, None)
    for _ in range(3):
        tick()
    with limit.at(7):
        tick()
        assert [*limit.counted([b"a piece"])]
        tick()
        with pytest.raises(BadPattern, match="given up at #7"):
            tick()
    tick()
