"""Playback ranks divergences within a lane, and formats them as text."""

from __future__ import annotations

import pytest
from attrs import evolve

from acp_proxy.playback.replay.lanes import Lane
from acp_proxy.playback.shared.divergence import (
    SHOWN,
    Divergence,
    DivergenceKind,
    DivergenceLog,
    DivergenceReporter,
    NearMiss,
    Rank,
)
from acp_proxy.playback.shared.message_mask import MessageMask

AGAIN = Divergence(
    DivergenceKind.EXHAUSTED,
    Rank.PRIMARY,
    "s",
    "the file was read again",
    5,
    3,
    '{"id":2}',
    (),
    (NearMiss(5, "fs/read_text_file", (), True), NearMiss(9, "fs/read_text_file", (), False)),
)
FOLLOWS = evolve(AGAIN, rank=Rank.CASCADE, line=None, near_misses=())
EARLY = evolve(FOLLOWS, rank=Rank.INFO)


def test_only_the_first_divergence_of_a_session_is_primary() -> None:
    """In a replay, only the first divergence of a session is primary; later ones follow from it."""
    log, a, b = DivergenceLog(MessageMask(None)), Lane("a"), Lane("b")
    noted = [
        log.note(kind, lane, "").rank
        for kind, lane in [
            (DivergenceKind.DRIFT, a),
            (DivergenceKind.UNMATCHED, a),
            (DivergenceKind.STALL, a),
            (DivergenceKind.EXHAUSTED, b),
            (DivergenceKind.LATE, b),
        ]
    ]
    assert noted == [Rank.INFO, Rank.PRIMARY, Rank.CASCADE, Rank.PRIMARY, Rank.INFO]
    assert log.has_diverged
    assert log.has_stalled


def test_information_is_no_divergence() -> None:
    """If all divergences of a replay are harmless, the replay does not count as diverged."""
    log, lane = DivergenceLog(MessageMask(None)), Lane("a")
    log.note(DivergenceKind.EARLY, lane, "")
    log.note(DivergenceKind.MISSING_EXPECTED, lane, "", is_harmless=True)
    assert not log.has_diverged
    assert log.latest.get(lane) is None
    assert log.note(DivergenceKind.UNMATCHED, lane, "").rank is Rank.PRIMARY


def test_after_a_failed_handshake_all_divergences_are_cascades() -> None:
    """If the handshake of a replay diverges, all later divergences follow from it."""
    log = DivergenceLog(MessageMask(None))
    log.note(DivergenceKind.PARAMS_DIFFER, Lane(None), "", of_handshake=True)
    assert log.note(DivergenceKind.UNMATCHED, Lane("a"), "").rank is Rank.CASCADE


def test_a_limited_number_of_divergences_is_kept() -> None:
    """After 1000 divergences, a replay keeps only primary ones, and counts those left out."""
    log, lane = DivergenceLog(MessageMask(None)), Lane("a")
    for _ in range(1500):
        log.note(DivergenceKind.DRIFT, lane, "")
    log.note(DivergenceKind.STALL, lane, "")
    assert (len(log.found), log.left_out) == (1001, 500)
    assert log.found[-1].kind is DivergenceKind.STALL
    assert log.has_stalled


def test_moments_are_counted_from_the_beginning() -> None:
    """A replay report gives the time of each divergence, counted from the start of the replay."""
    log = DivergenceLog(MessageMask(None))
    log.set_time(5 * 10**9)
    log.set_time(5 * 10**9 + 1_500_000)
    noted = log.note(DivergenceKind.DRIFT, Lane("a"), "", came=b"\xff" * 600)
    assert noted.at_ms == 1.5
    assert noted.came == "\ufffd" * 500


@pytest.mark.parametrize("peer", ["client", "agent"])
def test_a_used_up_near_miss_is_marked(peer: str) -> None:
    """Reports of `replay` and `verify` mark similar recorded messages that are already matched."""
    assert [*DivergenceReporter(peer).lines_of(AGAIN)] == [
        "exhausted in s (primary): the file was read again",
        f'  the {peer}\'s line 3: {{"id":2}}',
        "  near: fs/read_text_file #5, already matched",
        "  near: fs/read_text_file #9",
    ]


def test_cascades_are_shown_after_primary_divergences() -> None:
    """The report of a replay shows primary divergences before those that follow from them."""
    shown = DivergenceReporter("agent").blocks([FOLLOWS, EARLY, AGAIN], 0)
    assert [block[0].split(":")[0] for block in shown] == [
        "exhausted in s (primary)",
        "exhausted in s (follows from that)",
    ]


def test_divergences_that_are_not_shown_are_counted() -> None:
    """The report of a replay counts the divergences that it does not show."""
    assert DivergenceReporter("agent").blocks([AGAIN] * (SHOWN + 3), 2)[SHOWN:] == [
        ["... and 5 more; --report FILE lists them all"]
    ]
    assert DivergenceReporter("agent").blocks([AGAIN], 2)[1:] == [
        ["... and 2 more; --report FILE lists them all"]
    ]
