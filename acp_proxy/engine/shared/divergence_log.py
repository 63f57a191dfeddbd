"""Keeps the divergences of one replay or verification, and ranks them.

The first divergence of a lane is primary. Later ones of the lane are cascades: they probably follow
from the first one. After a failed handshake every divergence is a cascade.
"""

from typing import Protocol

from acp_proxy.engine.shared.comparison import Difference
from acp_proxy.engine.shared.divergence import (
    INFORMATION,
    Divergence,
    DivergenceKind,
    NearMiss,
    Rank,
)

_MOST = 1000
"""Divergences that are kept, besides the primary ones, of which each lane has one."""
_SHOWN_BYTES = 500
"""Bytes of the peer's line that a divergence keeps."""


class DivergingLane(Protocol):
    """A lane, as far as the log needs to know it; each object is a lane of its own."""

    @property
    def title(self) -> str:
        """The name of the lane in reports."""


class DivergenceLog:
    """All divergences of one replay.

    Attributes:
        found: the divergences, in the order in which they were noticed.
        left_out: how many more there were.
        has_diverged: whether there is a divergence that is not for information only.
        has_stalled: whether the replay ended because there was no progress.
    """

    def __init__(self) -> None:
        self.found: list[Divergence] = []
        self.left_out = 0
        self.has_diverged = False
        self.has_stalled = False
        self._latest: dict[DivergingLane, Divergence] = {}
        self._handshake_failed = False
        self._began: int | None = None

    def begin(self, at: int) -> None:
        """Notes when the replay began; only the first call counts."""
        if self._began is None:
            self._began = at

    def latest_in(self, lane: DivergingLane) -> Divergence | None:
        """Returns the latest divergence of a lane that is not for information only."""
        return self._latest.get(lane)

    def note(
        self,
        kind: DivergenceKind,
        lane: DivergingLane,
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
        """Ranks a divergence and keeps it.

        Args:
            kind: what went differently.
            lane: the lane in which it did.
            summary: one sentence.
            at: the moment, in monotonic nanoseconds.
            seq: the number of the recorded frame.
            line: the number of the peer's line, counted from 1.
            came: that line.
            differences: between the line and the recorded frame.
            near_misses: recorded messages that are like the line.
            of_handshake: whether every later divergence follows from this one.
            is_harmless: whether it is for information, although others of its kind are not.

        Returns:
            the divergence.
        """
        divergence = Divergence(
            kind=kind,
            rank=Rank.INFO if is_harmless else self._rank(kind, lane, of_handshake),
            lane=lane.title,
            summary=summary,
            seq=seq,
            line=line,
            came=None if came is None else came[:_SHOWN_BYTES].decode(errors="replace"),
            differences=differences,
            near_misses=near_misses,
            at_ms=round((at - (self._began or 0)) / 1e6, 3),
        )
        if divergence.rank is not Rank.INFO:
            self._latest[lane] = divergence
        if divergence.rank is Rank.PRIMARY or len(self.found) < _MOST:
            self.found.append(divergence)
        else:
            self.left_out += 1
        return divergence

    def _rank(self, kind: DivergenceKind, lane: DivergingLane, of_handshake: bool) -> Rank:
        if kind in INFORMATION:
            return Rank.INFO
        follows = lane in self._latest or self._handshake_failed
        self.has_diverged = True
        self.has_stalled |= kind is DivergenceKind.STALL
        self._handshake_failed |= of_handshake
        return Rank.CASCADE if follows else Rank.PRIMARY
