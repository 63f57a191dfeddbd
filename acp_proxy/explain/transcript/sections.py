"""Divides a recording into sections: its turns, and the frames outside of turns."""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from acp_proxy.base.limits import LAST_NUMBER
from acp_proxy.explain.choice import frames_numbered
from acp_proxy.explain.show.summary_values import turn_state
from acp_proxy.explain.transcript.entries import TranscriptSection
from acp_proxy.recording.filters import Filter
from acp_proxy.recording.steps import ANNOUNCEMENT, announced_session
from acp_proxy.store.queries.exchanges import TurnRow, turns
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row


class SectionRows(NamedTuple):
    """A section, its turn, and the rows of its frames and events.

    The turn is None outside of turns. Each message of a batch is a row. The caller must read all
    rows before the next section.
    """

    section: TranscriptSection
    turn: TurnRow | None
    rows: Iterator[Row]


class Sections:
    """Reads a recording once, section by section. Each row belongs to one section.

    Section 0 contains the frames before the first turn. Each turn is a section, and is followed by
    a section with frames outside of turns.

    A row that is read before its own section begins is remembered, usually by its number alone. It
    is read again when its section is read.

    Args:
        reader: the recording.
        chosen: a filter of frames.
        only: the number of the only turn to read; None for all turns.
        rows: all rows that match the filter, from the caller; None to read them here.
    """

    def __init__(
        self, reader: RecordingReader, chosen: Filter, only: int | None, rows: Iterator[Row] | None
    ) -> None:
        self._reader, self._chosen, self._only = reader, chosen, only
        self._turns = turns(reader)
        self._places = {turn.id: place for place, turn in enumerate(self._turns)}
        self._prompts = [turn.prompt_seq for turn in self._turns]
        self._has_batches = bool(reader.first_of_kind("batch"))
        after = self._prompts[self._places[only]] - 1 if only in self._places else 0
        self._unread = reader.rows(chosen, after) if rows is None else rows
        self._next: Row | None = None
        self._kept: dict[int, list[int | Row]] = {}
        self._children: set[str] = set()
        """The announced sessions of subagents. Their messages belong to a turn of the parent
        session."""

    def read(self) -> Iterator[SectionRows]:
        """Yields the sections in the order in which they began."""
        self._next = next(self._unread, None)
        if self._only is None:
            yield self._outside(-1, 1)
        for place, turn in enumerate(self._turns):
            if self._only in (None, turn.id):
                section = _section(turn, is_open=self._reader.is_open)
                rows = self._rows(2 * place + 1, turn.end_seq or LAST_NUMBER)
                yield SectionRows(section, turn, rows)
            if self._only is None:
                yield self._outside(place, turn.prompt_seq)

    def _outside(self, place: int, first: int) -> SectionRows:
        section = TranscriptSection(None, None, first, None)
        return SectionRows(section, None, self._rows(2 * place + 2, self._beyond(place)))

    def _beyond(self, place: int) -> int:
        """Returns the number of the last frame or event before the next turn begins."""
        return self._prompts[place + 1] - 1 if place + 1 < len(self._prompts) else LAST_NUMBER

    def _rows(self, number: int, last: int) -> Iterator[Row]:
        yield from self._kept_rows(number)
        while (row := self._next) is not None and row["seq"] <= last:
            self._next = next(self._unread, None)
            for member in row.get("members") or [row]:
                if member is not row and not self._chosen.matches(member):
                    continue
                raw = member.get("raw", b"")
                if ANNOUNCEMENT in raw and (child := announced_session(raw)):
                    self._children.add(child)
                its = self._number(member)
                if its == number:
                    yield member
                elif its > number and self._only is None:
                    is_read_again = "raw" in member and not self._has_batches
                    kept = member["seq"] if is_read_again else member
                    self._kept.setdefault(its, []).append(kept)

    def _kept_rows(self, number: int) -> Iterator[Row]:
        for is_frame, group in groupby(self._kept.pop(number, ()), lambda item: type(item) is int):
            if is_frame:
                seqs = (item for item in group if isinstance(item, int))
                yield from frames_numbered(self._reader, seqs)
            else:
                yield from (item for item in group if not isinstance(item, int))

    def _number(self, row: Row) -> int:
        """Returns the number of a row's section; -1 if the row's turn does not include the row."""
        seq, turn = row["seq"], row.get("turn")
        if turn is not None:
            place = self._places.get(turn, -1)
            is_within = place >= 0 and self._prompts[place] <= seq <= self._end(place)
            return 2 * place + 1 if is_within else -1
        place = bisect_right(self._prompts, seq) - 1
        is_of_latest = (
            "raw" not in row or row["kind"] == "stderr" or row["session"] in self._children
        )
        if place >= 0 and is_of_latest and seq <= self._end(place):
            return 2 * place + 1  # an event, stderr or a subagent belongs to the latest open turn
        return 2 * place + 2

    def _end(self, place: int) -> int:
        return self._turns[place].end_seq or LAST_NUMBER


def _section(turn: TurnRow, *, is_open: bool) -> TranscriptSection:
    state = turn_state(turn, "open" if is_open else "never ended")
    is_failed, took_ns = state in ("never ended", "error", "refusal"), turn.duration_ns
    return TranscriptSection(
        turn.id, turn.session, turn.prompt_seq, turn.end_seq, state, is_failed, took_ns
    )
