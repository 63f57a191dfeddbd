"""An exported part of a conversation can be replayed, and has exactly the requested turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.cli.store.pytest_export import Turns, trimmed
from acp_proxy.playback.replay.replay_report import text
from acp_proxy.testing.rehearsal import rehearse
from tests.support.drawn_conversations import lines_of, reader_of, steps

if TYPE_CHECKING:
    from acp_proxy.store.reader import RecordingReader


def turns_of(reader: RecordingReader) -> list[int]:
    """Returns the numbers of a recording's turns."""
    return [row["id"] for row in reader.query("SELECT id FROM turns ORDER BY id")]


def payloads(reader: RecordingReader, where: str = "1") -> dict[int, bytes]:
    """Returns the frames of a recording that match a condition, by their numbers."""
    rows = reader.query(f"SELECT seq, raw FROM frames WHERE {where}")
    return {row["seq"]: bytes(row["raw"]) for row in rows}


@given(steps)
def test_every_conversation_replays(words: list[tuple[str, int]]) -> None:
    """A test that `export --format pytest` makes of a recording replays without a divergence."""
    with reader_of(lines_of(words)) as reader:
        rehearsal = rehearse(reader)
        assert rehearsal.verdict == "clean", text(rehearsal)


@given(steps, st.integers(1, 5), st.integers(0, 2))
def test_some_turns_replay(words: list[tuple[str, int]], first: int, more: int) -> None:
    """A test that `export --format pytest` makes of any turns replays without a divergence."""
    with reader_of(lines_of(words)) as reader:
        chosen = [turn for turn in turns_of(reader) if first <= turn <= first + more]
        if not chosen:
            return
        among = f"({', '.join(map(str, chosen))})"
        wanted = payloads(reader, f"turn IN {among}")
        unwanted = payloads(reader, f"turn NOT IN {among}")
        lines = trimmed(reader, Turns(first, first + more))
        everything = payloads(reader)
    with reader_of(lines) as part:
        kept = payloads(part)
        assert wanted.items() <= kept.items() <= everything.items()
        assert not unwanted.keys() & kept.keys()
        assert len(turns_of(part)) == len(chosen)
        rehearsal = rehearse(part)
        assert rehearsal.verdict == "clean", text(rehearsal)


@given(steps, st.integers(1, 5))
def test_only_whole_exchanges_are_left(words: list[tuple[str, int]], turn: int) -> None:
    """A test that `export --format pytest` makes of a turn has no half of an exchange."""
    with reader_of(lines_of(words)) as reader:
        if turn not in turns_of(reader):
            return
        pairs = [
            (row["request_seq"], row["response_seq"])
            for row in reader.query("SELECT * FROM exchanges WHERE response_seq IS NOT NULL")
        ]
        lines = trimmed(reader, Turns(turn, turn))
    with reader_of(lines) as part:
        kept = payloads(part).keys()
    for request, response in pairs:
        assert (request in kept) == (response in kept)


@given(steps)
def test_exporting_all_turns_again_changes_nothing(words: list[tuple[str, int]]) -> None:
    """`export --format pytest` of a test's own recording makes an equal recording."""
    with reader_of(lines_of(words)) as reader:
        if not turns_of(reader):
            return
        lines = trimmed(reader, Turns(1, None))
    with reader_of(lines) as part:
        assert trimmed(part, Turns(1, None)) == lines
