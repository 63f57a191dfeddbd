"""A turn, a session or a number chooses frames, or is an error that names what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.errors import BadFilter
from acp_proxy.filters import EVERYTHING, parse
from acp_proxy.inspection.choice import Neighborhood, of_session, of_turn, row_of
from acp_proxy.store.frame_queries import last_number
from acp_proxy.store.reader import RecordingReader
from tests.log_writer import (
    LogWriter,
    handshake,
    record_conversation,
    request,
    result,
    text,
    update,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def story(tmp_path: Path) -> Iterator[RecordingReader]:
    """The recording of `write_conversation`."""
    with RecordingReader(record_conversation(tmp_path / "story.db")) as reader:
        yield reader


@pytest.mark.parametrize(
    ("seq", "context", "filter_", "found"),
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
    story: RecordingReader, seq: int, context: int, filter_: str, found: list[int]
) -> None:
    """Those that the filter chooses nearby, and always the frame itself and its pair."""
    rows = Neighborhood(story, seq, context).rows(parse(filter_))
    assert [row["seq"] for row in rows] == found


def test_the_pair_is_known(story: RecordingReader) -> None:
    """So the other frame can be marked too."""
    assert Neighborhood(story, 6, 1).pair == 15
    assert Neighborhood(story, 16, 1).pair is None
    assert Neighborhood(story, 23, 1).pair is None


def test_a_number_chooses_a_row(story: RecordingReader) -> None:
    """A frame or an event; the error for an unknown number names the last one."""
    assert row_of(story, 6)["method"] == "session/prompt"
    assert row_of(story, 23)["kind"] == "exit"
    assert last_number(story) == 23
    with pytest.raises(BadFilter, match=r"no frame or event 24 in .*; the last one is 23"):
        row_of(story, 24)


def test_a_turn_chooses_its_frames(story: RecordingReader) -> None:
    """From the prompt to its answer; the error for an unknown turn has the number of turns."""
    found = [row["seq"] for row in story.rows(of_turn(story, 1))]
    assert (found[0], found[-1]) == (6, 15)
    with pytest.raises(BadFilter, match=r"no turn 2 in .*; it has 1$"):
        of_turn(story, 2)


def test_a_turn_of_a_live_recording_may_still_come(tmp_path: Path) -> None:
    """So it is not an error while the recorder runs."""
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
    """A complete id means itself, and its characters are not a pattern."""
    path = record_sessions(tmp_path / "x.db", "ab-1", "ab-12", "xy", "x*[y]", "xz")
    with RecordingReader(path) as reader:
        rows = list(reader.rows(of_session(reader, start)))
    found = {row["session"] or row["answer_session"] for row in rows}
    assert found == {session}


@pytest.mark.parametrize(
    ("sessions", "start", "answer"),
    [
        (["aa", "ab"], "a", r"2 sessions begin with 'a' in .*; there is aa, ab$"),
        (["aa", "b\x1b"], "x", r"no session begins with 'x' in .*; there is aa, b\\x1b, heard-of$"),
        ([f"s{n}" for n in range(7)], "s", r"there is s0, s1, s2, s3, s4 and 2 more$"),
    ],
)
def test_an_ambiguous_or_unknown_session_is_an_error(
    tmp_path: Path, sessions: list[str], start: str, answer: str
) -> None:
    """It names a few of the sessions."""
    path = record_sessions(tmp_path / "x.db", *sessions)
    with RecordingReader(path) as reader, pytest.raises(BadFilter, match=answer):
        of_session(reader, start)


def test_a_recording_may_have_no_sessions(tmp_path: Path) -> None:
    """The error says so."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
    with RecordingReader(recorder.path) as reader:
        assert len(list(reader.rows(EVERYTHING))) == 3
        with pytest.raises(BadFilter, match="it has no sessions"):
            of_session(reader, "s")
