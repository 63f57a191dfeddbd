"""Tests the report of a replay, as text, as JSON and for JUnit."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest
from attrs import evolve

from acp_proxy.base.forms import converter
from acp_proxy.cli.screens.junit import replay_suite
from acp_proxy.playback.replay.replay_report import LaneWait, ReplayReport, report, text
from acp_proxy.playback.shared.comparison import Difference
from acp_proxy.playback.shared.divergence import Divergence, DivergenceKind, NearMiss, Rank
from tests.support.playbook import record

if TYPE_CHECKING:
    from pathlib import Path

CLEAN = ReplayReport("r.db", "clean", 0, 5, 3, 3, 0, (), 0, (), (), {})
DIFFERS = Divergence(
    DivergenceKind.PARAMS_DIFFER,
    Rank.PRIMARY,
    "s-1",
    "the recording expected session/prompt #5; the client sent another message",
    5,
    3,
    '{"id":2}',
    (),
    (
        NearMiss(5, "session/prompt", (Difference("/params/a", "1", "2"),), False),
        NearMiss(9, "session/prompt", tuple(Difference(f"/{n}", "1", "2") for n in range(9)), True),
    ),
)
FOLLOWS = evolve(DIFFERS, kind=DivergenceKind.UNMATCHED, rank=Rank.CASCADE, near_misses=())
DRIFTS = evolve(DIFFERS, kind=DivergenceKind.DRIFT, rank=Rank.INFO)
DIVERGED = evolve(
    CLEAN,
    verdict="diverged",
    exit_code=1,
    unplayed=4,
    divergences=(DRIFTS, DIFFERS, FOLLOWS),
    waits=(LaneWait("s-2", "client", 7, "session/prompt"),),
    bindings={"/old": "/new"},
)


def test_a_clean_replay_has_no_text() -> None:
    """The text report of a replay without divergences is empty."""
    assert text(CLEAN) == []
    assert text(evolve(CLEAN, withheld=(7, 9))) == [
        "replay of r.db: clean; 5 frames sent, 3 messages matched",
        "",
        "withheld from the client (--inert): #7, #9",
    ]
    assert text(evolve(CLEAN, withheld=(7,), withheld_outside=(7,)))[2:] == [
        "withheld from the client, since these frames would write or run something outside the"
        " directories that the client named: #7; --allow-outside sends them",
    ]


def test_a_divergence_is_shown_with_its_context() -> None:
    """A replay report shows the recorded message and the live message of a divergence."""
    assert text(DIVERGED) == [
        "replay of r.db: 1 divergence; 5 frames sent, 3 messages matched, 4 frames unplayed",
        "",
        "params-differ in s-1 (primary): the recording expected session/prompt #5;"
        " the client sent another message",
        '  the client\'s line 3: {"id":2}',
        "  near: session/prompt #5",
        "    /params/a: recorded 1, came 2",
        "  near: session/prompt #9, already matched",
        *(f"    /{n}: recorded 1, came 2" for n in range(5)),
        "    ... and 4 more",
        "  to let it pass: --ignore /params/a",
        "",
        "unmatched in s-1 (follows from that): the recording expected session/prompt #5;"
        " the client sent another message",
        '  the client\'s line 3: {"id":2}',
        "",
        "waiting:",
        "  s-2: for the client, session/prompt #7",
        "",
        "the client's own values:",
        "  /old is now /new",
    ]


def test_only_some_divergences_are_shown() -> None:
    """The text report of a replay shows only a few of many divergences, and counts the others."""
    many = evolve(DIVERGED, divergences=(DIFFERS,) * 20, left_out=5)
    assert "... and 13 more; --report FILE lists them all" in text(many)


@pytest.mark.parametrize(
    ("verdict", "words"), [("incomplete", "incomplete, and was played"), ("stalled", "stalled; ")]
)
def test_each_verdict_has_a_headline(verdict: str, words: str) -> None:
    """The first line of `replay`'s text report contains the verdict, such as `stalled`."""
    assert words in text(evolve(CLEAN, verdict=verdict))[0]


def hostile(value: str) -> ReplayReport:
    """A replay report in which every recorded or live text is the same hostile text."""
    divergence = evolve(DIFFERS, lane=value, summary=value, came=value, differences=(
        Difference(value, value, value),))  # fmt: skip
    return evolve(
        DIVERGED,
        recording=value,
        divergences=(divergence,),
        waits=(LaneWait(value, "client", 1, value),),
        bindings={value: value},
    )


EVIL = "\x1b[2J\x00\x07\x9b\u202e\ud800\n]]>"


def test_recorded_text_cannot_control_the_terminal() -> None:
    """A replay report makes control characters visible."""
    for line in text(hostile(EVIL)):
        assert line.isprintable()


def test_recorded_text_cannot_break_the_xml() -> None:
    """A replay report for JUnit escapes characters that XML does not allow."""
    suite = ET.fromstring(replay_suite(hostile(EVIL)).encode())
    assert [case.tag for case in suite] == ["testcase", "testcase"]


def test_junit_has_a_case_for_each_diverged_lane_and_for_the_whole() -> None:
    """The JUnit report of a replay has a case for each diverged session and one for the verdict."""
    suite = ET.fromstring(replay_suite(DIVERGED).encode())
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    (failure,) = suite.iter("failure")
    assert failure.get("type") == "params-differ"
    assert "/params/a: recorded 1, came 2" in (failure.text or "")
    assert ET.fromstring(replay_suite(CLEAN).encode()).get("failures") == "0"
    incomplete = ET.fromstring(replay_suite(evolve(CLEAN, verdict="incomplete")).encode())
    assert incomplete.get("failures") == "1"


def test_the_report_is_json() -> None:
    """The JSON report of a replay can be read back without loss."""
    read: Any = converter.loads(converter.dumps(DIVERGED), ReplayReport)
    assert read == DIVERGED
    assert '"kind": "params-differ"' in converter.dumps(DIVERGED)


def test_only_a_difference_of_params_can_be_ignored() -> None:
    """A replay report suggests `--ignore` only for a difference in params."""
    assert DIFFERS.ignores == ("--ignore /params/a",)
    assert FOLLOWS.ignores == ()


@pytest.mark.parametrize(("said", "code"), [((1, 3), 1), ((1, 3, 5), 3)])
def test_an_incomplete_recording_excuses_no_divergence(
    tmp_path: Path, said: tuple[int, ...], code: int
) -> None:
    """If a recording is incomplete, a replay exits with 3, or with 1 after a divergence."""
    recorded = record(
        tmp_path,
        """
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": []}
        6 <- session/update {"sessionId": "s", "update": {"n": 1}}
        """,
    )
    live = recorded.replay()
    live.send(*said)
    live.leave()
    assert report(live.engine, "x", is_incomplete=True).exit_code == code
    recorded.close()
