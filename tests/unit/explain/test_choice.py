"""Tests how a turn, a session or a frame number selects frames."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.errors import BadFilter
from acp_proxy.cli.inspect import INSPECT
from acp_proxy.explain.choice import (
    chosen_in,
    of_session,
    of_turn,
    row_of,
    rows_around,
    why_nothing,
)
from acp_proxy.explain.log.timeline import pair_of
from acp_proxy.recording.filters import EVERYTHING, parse
from acp_proxy.store.queries.frames import last_number
from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import COMMANDS, run, words_for
from tests.support.log_writer import (
    LogWriter,
    handshake,
    notification,
    record_conversation,
    request,
    result,
    text,
    update,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILTERED = [
    name.removeprefix("acp-proxy ")
    for name, command in COMMANDS.items()
    if any(param.name == "filter_words" for param in command.params) and name != "acp-proxy diff"
]
"""Commands with a filter, but for the one that compares two recordings."""


@pytest.fixture
def story(tmp_path: Path) -> Iterator[RecordingReader]:
    """The recording of `write_conversation`."""
    with RecordingReader(record_conversation(tmp_path / "story.db")) as reader:
        yield reader


@pytest.mark.parametrize(
    ("seq", "context", "filter_", "expected"),
    [
        (11, 1, "", [10, 11, 12]),
        (6, 1, "", [5, 6, 7, 15]),
        (15, 2, "", [6, 13, 14, 15, 16, 17]),
        (1, 1, "", [1, 2]),
        (23, 1, "", [22, 23]),
        (8, 0, "", [8]),
        (11, 4, "kind:notification", [7, 8, 11, 12, 14]),
        (9, 10**30, "kind:event", [1, 9, 10, 19, 21, 22, 23]),
    ],
)
def test_frames_around_a_frame(
    story: RecordingReader, seq: int, context: int, filter_: str, expected: list[int]
) -> None:
    """`log --around N --context K` shows N, K frames on each side, and N's request or answer."""
    rows = rows_around(story, seq, context, parse(filter_))
    assert [row["seq"] for row in rows] == expected


def test_the_pair_is_known(story: RecordingReader) -> None:
    """`pair_of` returns the number of the frame that answers a request, or None if none does."""
    assert pair_of(row_of(story, 6)) == 15
    assert pair_of(row_of(story, 16)) is None
    assert pair_of(row_of(story, 23)) is None


def test_a_number_chooses_a_row(story: RecordingReader) -> None:
    """`log --seq N` shows frame or event N, and refuses a number after the last one."""
    assert row_of(story, 6)["method"] == "session/prompt"
    assert row_of(story, 23)["kind"] == "exit"
    assert last_number(story) == 23
    with pytest.raises(BadFilter, match=r"no frame or event 24 in .*; the last one is 23"):
        row_of(story, 24)


def test_a_turn_chooses_its_frames(story: RecordingReader) -> None:
    """The option `--turn` of `log` selects the frames from a prompt to its answer."""
    numbers = [row["seq"] for row in story.rows(of_turn(story, 1))]
    assert (numbers[0], numbers[-1]) == (6, 15)
    with pytest.raises(BadFilter, match=r"no turn 2 in .*; number of turns: 1$"):
        of_turn(story, 2)


def test_a_turn_of_a_live_recording_may_still_come(tmp_path: Path) -> None:
    """If a turn has not begun yet, `--turn` of `log` matches nothing in a running recording."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        with RecordingReader(recorder.path) as reader:
            assert list(reader.rows(of_turn(reader, 1))) == []


def record_sessions(path: Path, *sessions: str) -> Path:
    """Records sessions that were created, and one that only an update names."""
    with LogWriter(path) as recorder:
        for number, session in enumerate(sessions):
            recorder.to_agent(request(number, "session/new", cwd="/"))
            recorder.to_client(result(number, sessionId=session))
            recorder.to_client(update(session, "agent_message_chunk", content=text("a")))
        recorder.to_client(update("heard-of", "agent_message_chunk", content=text("a")))
        recorder.close()
    return path


@pytest.mark.parametrize(
    ("start", "session"),
    [("ab-1", "ab-1"), ("ab-12", "ab-12"), ("x*", "x*[y]"), ("xy", "xy"), ("heard", "heard-of")],
)
def test_the_start_of_an_id_is_enough(tmp_path: Path, start: str, session: str) -> None:
    """The option `--session` of `log` accepts the start of a session id."""
    path = record_sessions(tmp_path / "x.db", "ab-1", "ab-12", "xy", "x*[y]", "xz")
    with RecordingReader(path) as reader:
        rows = list(reader.rows(of_session(reader, start)))
    sessions = {row["session"] or row["answer_session"] for row in rows}
    assert sessions == {session}


@pytest.mark.parametrize(
    ("sessions", "start", "answer"),
    [
        (["aa", "ab"], "a", r"2 session ids begin with 'a' in .*; expected one of aa, ab$"),
        (
            ["aa", "b\x1b"],
            "x",
            r"no session id begins with 'x' in .*; expected one of aa, b\\x1b, heard-of$",
        ),
        ([f"s{n}" for n in range(7)], "s", r"expected one of s0, s1, s2, s3, s4 and 2 more$"),
    ],
)
def test_an_ambiguous_or_unknown_session_is_an_error(
    tmp_path: Path, sessions: list[str], start: str, answer: str
) -> None:
    """If `--session` of `log` fits no or several sessions, the error names some of them."""
    path = record_sessions(tmp_path / "x.db", *sessions)
    with RecordingReader(path) as reader, pytest.raises(BadFilter, match=answer):
        of_session(reader, start)


def test_a_recording_may_have_no_sessions(tmp_path: Path) -> None:
    """If a recording has no sessions, the error about `--session` of `log` says so."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
    with RecordingReader(recorder.path) as reader:
        assert len(list(reader.rows(EVERYTHING))) == 3
        with pytest.raises(BadFilter, match="it has no sessions"):
            of_session(reader, "s")


def prompt(rpc_id: int, session: str) -> dict[str, object]:
    """Returns a prompt as a line."""
    return request(rpc_id, "session/prompt", sessionId=session, prompt=[text("hello")])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two sessions, three turns, a failed tool call, a permission, a slow answer, a hang."""
    with LogWriter(tmp_path / "monday.db") as recorder:
        handshake(recorder)
        for number, session in ((2, "ses_1"), (3, "ses_2")):
            recorder.to_agent(request(number, "session/new", cwd="/src", mcpServers=[]))
            recorder.to_client(result(number, sessionId=session))
        recorder.to_agent(prompt(4, "ses_1"))
        recorder.to_client(
            update("ses_1", "tool_call", toolCallId="toolu_01", title="pytest", status="pending"),
            update("ses_1", "tool_call_update", toolCallId="toolu_01", status="failed"),
            request(1, "session/request_permission", sessionId="ses_1", options=[]),
        )
        recorder.to_agent(result(1, outcome={"outcome": "cancelled"}))
        recorder.to_client(
            request(2, "fs/read_text_file", sessionId="ses_1", path="/src/app.py"),
        )
        recorder.t_ns += 3 * 10**9
        recorder.to_agent(result(2, content="x"))
        recorder.to_client(result(4, stopReason="end_turn"))
        recorder.to_agent(prompt(5, "ses_2"), prompt(6, "ses_1"))
        recorder.to_client(update("ses_1", "agent_message_chunk", content=text("done")))
        recorder.to_client(result(6, stopReason="end_turn"))
        recorder.stderr("ERROR permission denied")
        recorder.end()
    return recorder.path


@pytest.fixture
def monday(path: Path) -> Iterator[RecordingReader]:
    """Opens the recording for reading, without masking of secrets."""
    with RecordingReader(path, unredacted=True) as reader:
        yield reader


@pytest.mark.parametrize(
    ("words", "methods"),
    [
        ("turn:last", ["session/prompt", "session/update", "session/prompt"]),
        ("status:failed", ["session/update"]),
        ("is:failed", ["session/update"]),
        ("failed", ["session/update"]),
        ("unanswered", ["session/prompt"]),
        ("is:unanswered", ["session/prompt"]),
        ("denied", [None]),
        ("latency:2s..", ["fs/read_text_file", "session/prompt"]),
        ("session:ses_2", ["session/new", "session/new", "session/prompt"]),
        ("session:ses_2 kind:request", ["session/new", "session/prompt"]),
        ("method:permission", ["session/request_permission"] * 2),
        ("call:toolu", ["session/update"] * 2),
        ("params.path=*app.py", ["fs/read_text_file"]),
        ("kind:stderr", [None]),
    ],
)
def test_a_first_guess_works(
    monday: RecordingReader, words: str, methods: list[str | None]
) -> None:
    """Filters of `log` that a user may guess, such as `failed`, select the intended frames."""
    chosen = [row["method"] for row in monday.frames(chosen_in(monday, words))]
    assert chosen == methods or (words == "latency:2s.." and set(chosen) == set(methods))


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("session:ses2", "; did you mean session:ses_2?"),
        ("method:session/promt", "; did you mean method:session/prompt?"),
        ("method:tool_call", "; did you mean params.update.sessionUpdate=tool_call?"),
        ("call:tolu_01", "; did you mean call:toolu_01?"),
        ("turn:9", "; the recording has 3 turns"),
        ("to-agent", "; did you mean dir:to-agent?"),
        ("requests", "; did you mean kind:request?"),
        ("errors", ""),
        ("kind:error method:prompt", "; 5 frames match method:prompt"),
        ("kind:stderr dir:to-agent", None),
        ("xyzzy", ""),
    ],
)
def test_nothing_is_explained(monday: RecordingReader, words: str, hint: str | None) -> None:
    """If a filter of `log` matches no frame, a hint suggests a similar filter that does match."""
    assert not list(monday.frames(chosen_in(monday, words)))
    said = why_nothing(monday, words)
    begin = f"0 of {monday.count()} frames match {words}"
    assert said.startswith(begin)
    assert hint is None or said == begin + hint


@pytest.mark.parametrize("command", FILTERED)
def test_each_command_says_that_nothing_matches(
    path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """If a filter matches nothing, each command that takes filters says so once, on stderr."""
    monkeypatch.chdir(path.parent)  # `report` writes a file
    result = run(*words_for(command, path), "session:ses2")
    assert "; did you mean session:ses_2?" in result.stderr
    assert result.stderr.count("0 of 19 frames") == 1
    assert result.exit_code == 0
    assert command in INSPECT


def test_a_kind_is_suggested_where_there_is_one(tmp_path: Path) -> None:
    """If the filter `errors` matches nothing, a message suggests `kind:error`."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "x"))
        recorder.to_client({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}})
    with RecordingReader(recorder.path) as reader:
        assert (
            why_nothing(reader, "errors") == "0 of 2 frames match errors; did you mean kind:error?"
        )
        assert why_nothing(reader, "unanswered") == "0 of 2 frames match unanswered"
        assert why_nothing(reader, "id:2 failed") == (
            "0 of 2 frames match id:2 failed; 1 frame matches failed"
        )


def test_a_search_asks_each_recording_for_its_last_turn(path: Path) -> None:
    """In `search`, the filter `turn:last` means the last turn of each searched recording."""
    assert "done" in run("search", "-w", "turn:last", "done", path).stdout
    assert run("search", "-w", "turn:last", "pytest", path).exit_code == 1


def test_a_comparison_has_no_last_turn(path: Path) -> None:
    """`diff` refuses the filter `turn:last`."""
    result = run("diff", path, path, "turn:last")
    assert result.exit_code == 2
    assert "'last' works only with a single recording" in result.stderr


def test_a_mistake_is_found_before_the_recording_is_opened(tmp_path: Path) -> None:
    """`log` reports a misspelt key in a filter before it looks for the recording."""
    result = run("log", tmp_path / "no.db", "knid:error")
    assert "did you mean kind?" in result.stderr


def test_a_recording_without_turns_has_no_last_one(tmp_path: Path) -> None:
    """In a recording without turns, the filter `turn:last` matches nothing."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(notification("x"))
    with RecordingReader(recorder.path) as reader:
        assert not list(reader.frames(chosen_in(reader, "turn:last")))
        with pytest.raises(BadFilter):
            chosen_in(reader, "turn:first")
