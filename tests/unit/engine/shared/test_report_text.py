"""Divergences of a client and of an agent are formatted in the same way."""

from __future__ import annotations

import pytest
from attrs import evolve

from acp_proxy.engine.shared.divergence import Divergence, DivergenceKind, NearMiss, Rank
from acp_proxy.engine.shared.report_text import SHOWN, DivergenceReporter
from acp_proxy.wording import counted

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


@pytest.mark.parametrize("peer", ["client", "agent"])
def test_what_was_used_up_is_told_as_that(peer: str) -> None:
    """Of a client and of an agent in the same words."""
    assert [*DivergenceReporter(peer).lines_of(AGAIN)] == [
        "exhausted in s (primary): the file was read again",
        f'  the {peer}\'s line 3: {{"id":2}}',
        "  near: fs/read_text_file #5, used up",
        "  near: fs/read_text_file #9",
    ]


def test_what_follows_from_others_comes_after_them() -> None:
    """And what is for information only does not count."""
    shown = DivergenceReporter("agent").blocks([FOLLOWS, EARLY, AGAIN], 0)
    assert [block[0].split(":")[0] for block in shown] == [
        "exhausted in s (primary)",
        "exhausted in s (follows from that)",
    ]


def test_what_is_not_shown_is_counted() -> None:
    """Whether it was written down or not."""
    assert DivergenceReporter("agent").blocks([AGAIN] * (SHOWN + 3), 2)[SHOWN:] == [
        ["... and 5 more; --report FILE has all of them"]
    ]
    assert DivergenceReporter("agent").blocks([AGAIN], 2)[1:] == [
        ["... and 2 more; --report FILE has all of them"]
    ]


def test_one_of_a_thing_is_no_plural() -> None:
    """Nothing is one."""
    assert [counted(number, "frame") for number in range(3)] == ["0 frames", "1 frame", "2 frames"]
