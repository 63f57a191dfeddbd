"""Divides a recording into sections: its turns, and the frames before, between and after them."""

from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from acp_proxy.filters import Filter, parse
from acp_proxy.inspection.transcript.values import TranscriptSection
from acp_proxy.store.exchange_queries import LAST_SEQ, TurnRow, turns
from acp_proxy.store.reader import RecordingReader

_MEANWHILE = "kind:stderr|event"
"""A filter of the lines and events without a session, which are shown in the latest open turn."""


class SectionFrames(NamedTuple):
    """A section, its turn (None outside of turns), and the filter of its frames and events."""

    section: TranscriptSection
    turn: TurnRow | None
    chosen: Filter


def parts_of(reader: RecordingReader, only: int | None = None) -> Iterator[SectionFrames]:
    """Yields the sections in the order in which they began; each frame belongs to one.

    Args:
        reader: the recording.
        only: the only turn to yield; None for all sections.
    """
    begun = turns(reader)
    if only is None:
        yield _outside(1, begun[0].prompt_seq - 1 if begun else LAST_SEQ, 0)
    for turn, following in zip_longest(begun, begun[1:]):
        beyond = LAST_SEQ if following is None else following.prompt_seq - 1
        claimed = min(turn.end_seq or LAST_SEQ, beyond)
        if only in (None, turn.id):
            yield _turn(turn, claimed, is_open=reader.is_open)
        if only is None:
            yield _outside(turn.prompt_seq, beyond, claimed)


def _turn(turn: TurnRow, claimed: int, *, is_open: bool) -> SectionFrames:
    end = turn.end_seq or LAST_SEQ
    seqs = f"seq:{turn.prompt_seq}..{end}"
    meanwhile = f"{_MEANWHILE} seq:{turn.prompt_seq}..{claimed}"
    state, is_failed = turn.stop_reason or "", False
    if turn.end_seq is None:
        state, is_failed = ("open", False) if is_open else ("never ended", True)
    elif turn.outcome == "error":
        state, is_failed = "error", True
    section = TranscriptSection(
        turn.id,
        turn.session,
        turn.prompt_seq,
        turn.end_seq,
        state or "ended",
        is_failed or turn.stop_reason in ("error", "refusal"),
        turn.duration_ns,
    )
    return SectionFrames(section, turn, parse(f"{seqs} (turn:{turn.id} or ({meanwhile}))"))


def _outside(first: int, last: int, claimed: int) -> SectionFrames:
    """Returns the section of the frames without a turn in a range.

    Args:
        first: the first number of the range.
        last: the last number.
        claimed: lines and events without a session belong to a turn up to this number.
    """
    chosen = parse(f"seq:{first}..{last} not turn:0.. not ({_MEANWHILE} seq:..{claimed})")
    return SectionFrames(TranscriptSection(None, None, first, None), None, chosen)
