"""The first departure of a lane is primary; what follows from it is told as such."""

from __future__ import annotations

from acp_proxy.engine.divergence import Departure, Rank
from acp_proxy.engine.judge import Judge
from acp_proxy.engine.lanes import Lane


def test_ranks() -> None:
    """Information never counts, and each lane has a primary departure of its own."""
    judge, a, b = Judge(), Lane("a"), Lane("b")
    noted = [
        judge.note(kind, lane, "", 0).rank
        for kind, lane in [
            (Departure.DRIFT, a),
            (Departure.UNMATCHED, a),
            (Departure.STALL, a),
            (Departure.EXHAUSTED, b),
            (Departure.LATE, b),
        ]
    ]
    assert noted == [Rank.INFO, Rank.PRIMARY, Rank.CASCADE, Rank.PRIMARY, Rank.INFO]
    assert judge.has_diverged
    assert judge.has_stalled


def test_information_is_no_divergence() -> None:
    """Nor is what is declared harmless."""
    judge, lane = Judge(), Lane("a")
    judge.note(Departure.EARLY, lane, "", 0)
    judge.note(Departure.MISSING_EXPECTED, lane, "", 0, is_harmless=True)
    assert not judge.has_diverged
    assert lane.reason is None
    assert judge.note(Departure.UNMATCHED, lane, "", 0).rank is Rank.PRIMARY


def test_after_a_failed_handshake_everything_follows() -> None:
    """In all lanes."""
    judge = Judge()
    judge.note(Departure.PARAMS_DIFFER, Lane(None), "", 0, of_handshake=True)
    assert judge.note(Departure.UNMATCHED, Lane("a"), "", 0).rank is Rank.CASCADE


def test_what_is_kept_has_an_end() -> None:
    """Beyond a thousand only primary departures are kept; the verdict forgets nothing."""
    judge, lane = Judge(), Lane("a")
    for _ in range(1500):
        judge.note(Departure.DRIFT, lane, "", 0)
    judge.note(Departure.STALL, lane, "", 0)
    assert (len(judge.found), judge.left_out) == (1001, 500)
    assert judge.found[-1].kind is Departure.STALL
    assert judge.has_stalled


def test_moments_are_counted_from_the_beginning() -> None:
    """In milliseconds, whatever the clock says."""
    judge = Judge()
    judge.begin(5 * 10**9)
    judge.begin(9 * 10**9)
    noted = judge.note(Departure.DRIFT, Lane("a"), "", 5 * 10**9 + 1_500_000, came=b"\xff" * 600)
    assert noted.at_ms == 1.5
    assert noted.came == "\ufffd" * 500
