"""Finds long pauses of a conversation, and who was waited for in each pause.

A pause is a time between two neighbouring frames or events. A pause of at least `ALWAYS_NS` is
always marked; a shorter one is marked if it takes at least a tenth of the open turn, and at least
`LEAST_NS`. Who was waited for is determined from stored requests, turns and tool calls.
"""

from collections.abc import Iterator
from typing import NamedTuple

from acp_proxy.base.limits import TITLE
from acp_proxy.base.wording import duration
from acp_proxy.explain.log.timeline import began_ns
from acp_proxy.explain.show.frame_pass import RunningCalls
from acp_proxy.explain.stats.turn_times import WAITING, waiting_part
from acp_proxy.explain.waits import LEAST_NS, Party, answering_party, named_wait
from acp_proxy.recording.recording import needs
from acp_proxy.store.queries.exchanges import ExchangeRow, TurnRow, exchanges, turns_during
from acp_proxy.store.queries.frames import frame_times, gaps, last_ns, last_number
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.tables.checked_values import Row

ALWAYS_NS = 5 * 10**9
"""A pause of at least this length is always marked."""
_SHARE = 10
"""A pause is marked if it takes at least one tenth of its turn."""


class Pause(NamedTuple):
    """A marked pause between two neighbouring frames or events."""

    before: int
    """The number of the frame or event before the pause."""
    after: int | None
    """The number of the frame or event after the pause; None if the pause has not ended."""
    length_ns: int
    awaited: str
    """Who was waited for, in words that can follow "waiting for"."""
    never_ended: bool
    """Whether the answer that was waited for never came."""

    def text(self, step_ns: int = 0) -> str:
        """Returns the pause in words, such as ``3.0 s, waiting for a person: permission``.

        Args:
            step_ns: the resolution of times; see `duration`.
        """
        how = "ended" if self.awaited.startswith("call ") else "answered"
        end = f", never {how}" if self.never_ended else ""
        return f"{duration(self.length_ns, step_ns)}, waiting for {self.awaited}{end}"


class Pauses:
    """Finds the marked pauses of one recording.

    Args:
        reader: the recording.
    """

    def __init__(self, reader: RecordingReader) -> None:
        self.reader, self.recording = reader, reader.recording
        self._calls: dict[int, RunningCalls] = {}
        """The running tool calls of the turn that was last asked for, by the number of the turn."""

    @needs("middle", "durations")
    def find(self, before: int, after: int | None, length_ns: int) -> Pause | None:
        """Returns the pause between two neighbouring frames or events; None for an unmarked pause.

        Args:
            before: the number of the frame or event before the pause.
            after: the number of the frame or event after the pause; None if the pause has not
                ended.
            length_ns: the length of the pause, in nanoseconds.
        """
        if length_ns < LEAST_NS:
            return None
        later = before + 1 if after is None else after
        turns = list(turns_during(self.reader, before, later))
        if length_ns < ALWAYS_NS:
            shortest = min(map(self._duration_ns, turns), default=None)
            if shortest is None or length_ns * _SHARE < shortest:
                return None
        awaited, never_ended = self._awaited(before, later, turns)
        return Pause(before, after, length_ns, awaited, never_ended)

    def between(self, before: tuple[int, int] | None, row: Row) -> Pause | None:
        """Returns the marked pause between two rows that are neighbours in the recording, or None.

        Args:
            before: the number and the time of the previous row; None for the first row.
            row: a row of `Rows.rows`.
        """
        if before is None or row["seq"] != before[0] + 1:
            return None
        length_ns = began_ns(row) - before[1]
        return self.find(before[0], row["seq"], length_ns) if length_ns >= LEAST_NS else None

    @needs("middle", "durations", unknown=())
    def every(self, now_ns: int | None = None) -> Iterator[Pause]:
        """Yields all marked pauses, in order.

        Args:
            now_ns: the time since the beginning of a recording that still runs, in nanoseconds;
                None to leave out a pause that has not ended.
        """
        for before, after, length_ns in gaps(self.reader, LEAST_NS):
            if (pause := self.find(before, after, length_ns)) is not None:
                yield pause
        if now_ns is not None and self.reader.live:
            since_ns = now_ns - last_ns(self.reader)
            pause = self.find(last_number(self.reader), None, since_ns)
            yield from () if pause is None else (pause,)

    def _duration_ns(self, turn: TurnRow) -> int:
        """Returns how long a turn took. An open turn lasts until the last frame or event."""
        if turn.duration_ns is not None:
            return turn.duration_ns
        return last_ns(self.reader) - frame_times(self.reader, [turn.prompt_seq])[turn.prompt_seq]

    def _awaited(self, before: int, after: int, turns: list[TurnRow]) -> tuple[str, bool]:
        """Returns who was waited for between two frames, and whether the answer never came."""
        rows = exchanges(self.reader, during=(before, after))
        first = min(rows, key=_precedence, default=None)
        calls = [title for turn in turns for title in self._running(turn, before)]
        if first is not None and (first.direction == "to-client" or not turns):
            party = answering_party(first.direction, first.method)
            awaited, answer = named_wait(party, first.method, calls), first.response_seq
        elif turns:
            awaited, answer = named_wait(Party.AGENT, None, calls), turns[0].end_seq
        else:
            return "the client's next message", False
        return awaited, answer is None and not self.reader.is_open

    def _running(self, turn: TurnRow, before: int) -> list[str]:
        """Returns the titles of a turn's tool calls that were running after a frame."""
        calls = self._calls.get(turn.id)
        if calls is None or calls.upto > before:
            self._calls.clear()
            calls = self._calls[turn.id] = RunningCalls(self.reader, turn.id, turn.prompt_seq)
        return [title[:TITLE] for title in calls.at(before).values()]


def _precedence(row: ExchangeRow) -> tuple[bool, int, int]:
    """Returns a key that sorts the open requests of a pause; the first one explains the pause."""
    is_client = row.direction == "to-client"
    return not is_client, WAITING.index(waiting_part(row.method)), row.request_seq
