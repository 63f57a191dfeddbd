"""A turn, a session, a number: what a person means by them, and what is said if there is none."""

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
def test_around_a_frame(
    story: RecordingReader, seq: int, context: int, filter_: str, found: list[int]
) -> None:
    """What is chosen of the numbers before and after it, and always itself and its pair."""
    rows = Neighborhood(story, seq, context).rows(parse(filter_))
    assert [row["seq"] for row in rows] == found


def test_the_pair_is_known(story: RecordingReader) -> None:
    """Whoever shows what is around a frame can mark the other one too."""
    assert Neighborhood(story, 6, 1).pair == 15
    assert Neighborhood(story, 16, 1).pair is None
    assert Neighborhood(story, 23, 1).pair is None


def test_a_number_is_a_row(story: RecordingReader) -> None:
    """Frames and events are found by their number; what is not there is told with the last one."""
    assert row_of(story, 6)["method"] == "session/prompt"
    assert row_of(story, 23)["kind"] == "exit"
    assert last_number(story) == 23
    with pytest.raises(BadFilter, match=r"no frame or event 24 in .*; the last one is 23"):
        row_of(story, 24)


def test_a_turn_is_its_frames(story: RecordingReader) -> None:
    """From the prompt to its answer; a turn that is not there is told with how many there are."""
    found = [row["seq"] for row in story.rows(of_turn(story, 1))]
    assert (found[0], found[-1]) == (6, 15)
    with pytest.raises(BadFilter, match=r"no turn 2 in .*; it has 1$"):
        of_turn(story, 2)


def test_a_turn_may_still_come(tmp_path: Path) -> None:
    """While the recorder runs somebody may wait for the next turn."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
        with RecordingReader(recorder.path) as reader:
            assert list(reader.rows(of_turn(reader, 1))) == []


def record_sessions(path: Path, *sessions: str) -> Path:
    """Records sessions that were made, and one that only an update names."""
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
    """An id that is another's beginning means itself, and no character of it is a pattern."""
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
def test_a_session_that_is_not_meant_clearly(
    tmp_path: Path, sessions: list[str], start: str, answer: str
) -> None:
    """None or several are told with the names there are, a few of them."""
    path = record_sessions(tmp_path / "x.db", *sessions)
    with RecordingReader(path) as reader, pytest.raises(BadFilter, match=answer):
        of_session(reader, start)


def test_there_may_be_no_session(tmp_path: Path) -> None:
    """A recording of a handshake says that it has none."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)
    with RecordingReader(recorder.path) as reader:
        assert len(list(reader.rows(EVERYTHING))) == 3
        with pytest.raises(BadFilter, match="it has no sessions"):
            of_session(reader, "s")
