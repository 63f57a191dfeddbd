"""Writes down departures: the first of a lane is primary, what follows from it is told as such."""

from typing import Protocol

from attrs import evolve

from acp_proxy.engine.shared.comparison import Difference
from acp_proxy.engine.shared.divergence import (
    INFORMATION,
    Divergence,
    DivergenceKind,
    NearMiss,
    Rank,
)

_MOST = 1000
"""Departures that are kept, besides the primary ones, of which each lane has one."""


class LoggedDivergences(Protocol):
    """Where something may depart: a lane.

    Attributes:
        has_diverged: whether it has departed already.
        reason: the latest departure.
    """

    has_diverged: bool
    reason: Divergence | None

    @property
    def title(self) -> str:
        """How reports name it."""


class DivergenceLog:
    """All departures of one replay.

    Attributes:
        found: in the order in which they were noticed.
        left_out: how many more there were.
        has_diverged: whether there is a departure that is not for information only.
        has_stalled: whether the replay ended because nothing went on.
    """

    def __init__(self) -> None:
        self.found: list[Divergence] = []
        self.left_out = 0
        self.has_diverged = False
        self.has_stalled = False
        self._handshake_failed = False
        self._began: int | None = None

    def begin(self, at: int) -> None:
        """Notes when the replay began."""
        if self._began is None:
            self._began = at

    def note(
        self,
        kind: DivergenceKind,
        lane: LoggedDivergences,
        summary: str,
        at: int,
        *,
        seq: int | None = None,
        line: int | None = None,
        came: bytes | None = None,
        differences: tuple[Difference, ...] = (),
        near_misses: tuple[NearMiss, ...] = (),
        of_handshake: bool = False,
        is_harmless: bool = False,
    ) -> Divergence:
        """Writes a departure down, ranks it, and returns it.

        Args:
            kind: what went differently.
            lane: where.
            summary: one sentence.
            at: when.
            seq: the number of the recorded frame.
            line: the number of the client's line.
            came: that line.
            differences: between the two.
            near_misses: recorded messages that are like it.
            of_handshake: whether everything else follows from it.
            is_harmless: whether it is for information, though others of its kind are not.
        """
        rank = self._rank(kind, lane, of_handshake) if not is_harmless else Rank.INFO
        text = None if came is None else came[:500].decode(errors="replace")
        divergence = Divergence(
            kind, rank, lane.title, summary, seq, line, text, differences, near_misses
        )
        divergence = evolve(divergence, at_ms=round((at - (self._began or 0)) / 1e6, 3))
        if rank is not Rank.INFO:
            lane.reason = divergence
        if rank is Rank.PRIMARY or len(self.found) < _MOST:
            self.found.append(divergence)
        else:
            self.left_out += 1
        return divergence

    def _rank(self, kind: DivergenceKind, lane: LoggedDivergences, of_handshake: bool) -> Rank:
        if kind in INFORMATION:
            return Rank.INFO
        follows = lane.has_diverged or self._handshake_failed
        lane.has_diverged = self.has_diverged = True
        self.has_stalled |= kind is DivergenceKind.STALL
        self._handshake_failed |= of_handshake
        return Rank.CASCADE if follows else Rank.PRIMARY
