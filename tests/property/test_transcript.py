"""`transcript` accepts any recording, and no recorded text becomes markup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given

from acp_proxy.cli.explain.transcript import transcript_parts
from acp_proxy.explain.transcript.entries import EntryKind, TranscriptEntry, TranscriptSection
from acp_proxy.explain.transcript.transcript import TranscriptReader
from acp_proxy.recording.filters import parse
from acp_proxy.store.reader import RecordingReader
from tests.support.drawn_conversations import lines_of, reader_of, steps
from tests.support.drawn_messages import STEPS, recorded
from tests.support.markdown_code import outside_of_code

if TYPE_CHECKING:
    from collections.abc import Iterator


def markup(reader: RecordingReader) -> Iterator[str]:
    """Returns the lines of a transcript without code blocks and code spans."""
    text = b"".join(transcript_parts(reader)).decode()
    assert text.replace("\n", "").replace("\t", "").isprintable()
    return outside_of_code(text.splitlines())


@given(steps=STEPS)
def test_any_messages_have_a_transcript(steps: list[tuple[int, Any]]) -> None:
    """`transcript` accepts messages with any JSON members."""
    with recorded(steps) as path, RecordingReader(path) as reader:
        assert all("](" not in line for line in markup(reader))
        for _ in TranscriptReader(reader, parse("kind:response|error or call:*")).read():
            pass


@given(words=steps)
def test_each_frame_is_in_one_section(words: list[tuple[str, int]]) -> None:
    """`transcript` puts each frame into one section."""
    with reader_of(lines_of(words)) as reader:
        items = [*TranscriptReader(reader).read()]
        frames = {row["seq"]: row for row in reader.frames()}
        turn: int | None = None
        shown: list[int] = []
        for item in items:
            if isinstance(item, TranscriptSection):
                turn = item.turn
                continue
            assert isinstance(item, TranscriptEntry)
            row = frames[item.seq]
            if item.kind not in (EntryKind.END, EntryKind.STDERR):
                assert row["turn"] == turn
            if item.kind is EntryKind.MESSAGE:
                shown += [s for s in range(item.seq, item.last_seq + 1)
                          if frames[s]["method"] == "session/update"
                          and frames[s]["session"] == row["session"]]  # fmt: skip
            elif item.kind in (EntryKind.PROMPT, EntryKind.REQUEST):
                shown.append(item.seq)
        wanted = [
            seq
            for seq, row in frames.items()
            if row["kind"] == "request" or row["method"] == "session/update"
        ]
        assert set(wanted) <= set(shown)
        requests = [seq for seq in shown if frames[seq]["kind"] == "request"]
        assert len(requests) == len(set(requests))
