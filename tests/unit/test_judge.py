"""The first departure of a lane is primary; what follows from it is told as such."""

from __future__ import annotations

from acp_proxy.engine.agent.lanes import Lane
from acp_proxy.engine.shared.divergence import DivergenceKind, Rank
from acp_proxy.engine.shared.divergence_log import DivergenceLog


def test_ranks() -> None:
    """Information never counts, and each lane has a primary departure of its own."""
    judge, a, b = DivergenceLog(), Lane("a"), Lane("b")
    noted = [
        judge.note(kind, lane, "", 0).rank
        for kind, lane in [
            (DivergenceKind.DRIFT, a),
            (DivergenceKind.UNMATCHED, a),
            (DivergenceKind.STALL, a),
            (DivergenceKind.EXHAUSTED, b),
            (DivergenceKind.LATE, b),
        ]
    ]
    assert noted == [Rank.INFO, Rank.PRIMARY, Rank.CASCADE, Rank.PRIMARY, Rank.INFO]
    assert judge.has_diverged
    assert judge.has_stalled


def test_information_is_no_divergence() -> None:
    """Nor is what is declared harmless."""
    judge, lane = DivergenceLog(), Lane("a")
    judge.note(DivergenceKind.EARLY, lane, "", 0)
    judge.note(DivergenceKind.MISSING_EXPECTED, lane, "", 0, is_harmless=True)
    assert not judge.has_diverged
    assert lane.reason is None
    assert judge.note(DivergenceKind.UNMATCHED, lane, "", 0).rank is Rank.PRIMARY


def test_after_a_failed_handshake_everything_follows() -> None:
    """In all lanes."""
    judge = DivergenceLog()
    judge.note(DivergenceKind.PARAMS_DIFFER, Lane(None), "", 0, of_handshake=True)
    assert judge.note(DivergenceKind.UNMATCHED, Lane("a"), "", 0).rank is Rank.CASCADE


def test_what_is_kept_has_an_end() -> None:
    """Beyond a thousand only primary departures are kept; the verdict forgets nothing."""
    judge, lane = DivergenceLog(), Lane("a")
    for _ in range(1500):
        judge.note(DivergenceKind.DRIFT, lane, "", 0)
    judge.note(DivergenceKind.STALL, lane, "", 0)
    assert (len(judge.found), judge.left_out) == (1001, 500)
    assert judge.found[-1].kind is DivergenceKind.STALL
    assert judge.has_stalled


def test_moments_are_counted_from_the_beginning() -> None:
    """In milliseconds, whatever the clock says."""
    judge = DivergenceLog()
    judge.begin(5 * 10**9)
    judge.begin(9 * 10**9)
    noted = judge.note(
        DivergenceKind.DRIFT, Lane("a"), "", 5 * 10**9 + 1_500_000, came=b"\xff" * 600
    )
    assert noted.at_ms == 1.5
    assert noted.came == "\ufffd" * 500
