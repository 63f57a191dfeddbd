"""A JUnit report says what failed, and is valid XML whatever was recorded."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from acp_proxy.cli.screens.junit import Case, Failure, failure_of, lane_cases, suite
from acp_proxy.playback.shared.divergence import Divergence, DivergenceKind, Rank

if TYPE_CHECKING:
    from collections.abc import Iterator

EVIL = "\x1b[2J\x00\ud800\uffff\u202e\r\n\t]]>&<\"'\U0001f600"
SEEN = "\\x1b[2J\\x00\\ud800\\uffff\\u202e\\r\\n\\t]]>&<\"'\U0001f600"


def test_a_suite_counts_its_cases() -> None:
    """A JUnit report of acp-proxy counts cases and failures, and omits an unknown duration."""
    cases = [
        Case("all", "fine"),
        Case("all", "slow", seconds=1.23456, output=["one", "two"]),
        Case("all.some", "bad", Failure("odd", "it is odd", ["first", "second"]), 0.0),
    ]
    assert suite("a suite", cases) == (
        "<?xml version='1.0' encoding='utf-8'?>\n"
        '<testsuite name="a suite" tests="3" failures="1" errors="0">'
        '<testcase classname="all" name="fine" />'
        '<testcase classname="all" name="slow" time="1.235">'
        "<system-out>one\ntwo</system-out></testcase>"
        '<testcase classname="all.some" name="bad" time="0.000">'
        '<failure type="odd" message="it is odd">first\nsecond</failure></testcase>'
        "</testsuite>\n"
    )


def test_a_suite_may_be_empty() -> None:
    """A JUnit report of acp-proxy is valid XML, even without cases or without lines of output."""
    assert ET.fromstring(suite("none", [])).attrib == {
        "name": "none",
        "tests": "0",
        "failures": "0",
        "errors": "0",
    }
    assert [*ET.fromstring(suite("x", [Case("a", "b", output=[])])).iter("system-out")]


def test_characters_that_xml_forbids_become_visible() -> None:
    """In a JUnit report, acp-proxy escapes characters that XML forbids."""
    case = Case(EVIL, EVIL, Failure(EVIL, EVIL, [EVIL, "end"]), output=[EVIL])
    root = ET.fromstring(suite(EVIL, [case]).encode())
    (actual,), (failure,), (output,) = root, root.iter("failure"), root.iter("system-out")
    assert root.get("name") == SEEN
    assert actual.attrib == {"classname": SEEN, "name": SEEN}
    assert failure.attrib == {"type": SEEN, "message": SEEN}
    assert (failure.text, output.text) == (f"{SEEN}\nend", SEEN)


@pytest.mark.parametrize("module", ["cli.record", "cli.playback.replay", "testing.replayed_agent"])
def test_xml_is_imported_only_for_reports(module: str) -> None:
    """`record` and `replay` do not import the library for XML, which only JUnit reports need."""
    script = f"import sys, acp_proxy.{module}; sys.exit('xml.etree.ElementTree' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def divergence(rank: Rank, lane: str, kind: DivergenceKind) -> Divergence:
    """Returns a divergence in a lane."""
    return Divergence(kind, rank, lane, f"{rank} in {lane}")


def lines_of(divergence: Divergence) -> Iterator[str]:
    """Returns the lines of a divergence."""
    yield f"{divergence.kind}: {divergence.summary}"


def test_a_failed_lane_is_named_after_its_root_cause() -> None:
    """The JUnit report of `verify` names a session's failure after its cause, not an effect."""
    actual = [
        divergence(Rank.INFO, "b", DivergenceKind.EARLY),
        divergence(Rank.CASCADE, "b", DivergenceKind.UNPLAYED),
        divergence(Rank.INFO, "c", DivergenceKind.LATE),
        divergence(Rank.CASCADE, "a", DivergenceKind.UNPLAYED),
        divergence(Rank.PRIMARY, "b", DivergenceKind.STALL),
        divergence(Rank.PRIMARY, "b", DivergenceKind.FLOOD),
    ]
    b = ["early: info in b", "unplayed: cascade in b", "stall: primary in b", "flood: primary in b"]
    assert [*lane_cases("verify", actual, lines_of)] == [
        Case("verify", "a", Failure("unplayed", "cascade in a", ["unplayed: cascade in a"])),
        Case("verify", "b", Failure("stall", "primary in b", b)),
    ]
    assert failure_of(actual[:1], lines_of) is None
    assert failure_of([], lines_of) is None
