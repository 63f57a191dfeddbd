"""Answers that the live agent has asked for and that have not gone out.

They wait in their lane, where the first one may go out as soon as its causes have happened; and,
all lanes together, for the moment at which nobody waits any longer. So neither what was said nor
what was never asked is looked at again.
"""

from bisect import insort
from collections.abc import Iterator
from heapq import heappop, heappush
from operator import attrgetter

from acp_proxy.engine.client.lane import ClientLane, Line

_Entry = tuple[int, int, ClientLane, Line]


class Answering:
    """The answers that wait."""

    def __init__(self) -> None:
        self._by_patience: list[_Entry] = []
        self._by_end: list[_Entry] = []

    def add(self, lane: ClientLane, line: Line, patience: int, end: int) -> None:
        """Adds an answer that may go out as soon as it is its turn.

        Args:
            lane: its lane.
            line: the answer.
            patience: how long the agent has to be silent before it goes out anyway.
            end: when it goes out at last.
        """
        heappush(lane.asked, (line.seq, line))
        heappush(self._by_patience, (patience, line.seq, lane, line))
        heappush(self._by_end, (end, line.seq, lane, line))

    def free_patient(self, at: int, silence: int) -> None:
        """Frees those that have waited long enough.

        Args:
            at: the moment.
            silence: how long nobody has said anything.
        """
        for heap, reached in ((self._by_patience, silence), (self._by_end, at)):
            while (first := _first(heap)) is not None and first[0] <= reached:
                free(first[2], first[3])

    def moments(self, spoken_at: int) -> Iterator[int]:
        """Yields when the next one will have waited long enough, if nothing comes."""
        if (first := _first(self._by_patience)) is not None:
            yield spoken_at + first[0]
        if (first := _first(self._by_end)) is not None:
            yield first[0]


def free(lane: ClientLane, line: Line) -> None:
    """Lets an answer go out when its time has come."""
    line.is_free = True
    insort(lane.free, line, key=attrgetter("seq"))


def first_asked(lane: ClientLane) -> Line | None:
    """The first answer of a lane that waits for its causes."""
    while lane.asked and lane.asked[0][1].is_free:
        heappop(lane.asked)
    return lane.asked[0][1] if lane.asked else None


def _first(heap: list[_Entry]) -> _Entry | None:
    while heap and heap[0][3].is_free:
        heappop(heap)
    return heap[0] if heap else None
