"""`report.verdict`: who is to blame in the recordings that are shipped, and at which frame."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_proxy.conformance.checker import check
from acp_proxy.conformance.choice import chosen_rules
from acp_proxy.conformance.report import reported
from acp_proxy.inspection.choice import row_of
from acp_proxy.inspection.diagnosis.summary import summarize
from acp_proxy.inspection.timeline import pair_of
from acp_proxy.report.verdict import Verdict, find_verdict
from acp_proxy.store.reader import RecordingReader

RECORDINGS = Path(__file__).parents[3] / "recordings"


def verdict_of(path: Path) -> Verdict:
    """The verdict on a recording."""
    with RecordingReader(path) as reader:
        checked = reported(reader, check(reader), chosen_rules((), ()))
        return find_verdict(summarize(reader), checked, lambda seq: pair_of(row_of(reader, seq)))


@pytest.mark.parametrize(
    ("name", "by", "seq", "words"),
    [
        ("crash", "agent", 14, "the agent was killed by SIGABRT"),
        ("hang", "agent", 6, "session/prompt"),
        ("late-updates", "agent", 11, "tool_call_update"),
        ("lost-permission", "client", 11, "agent waits for client: session/request_permission"),
        ("wrong-params", "client", 6, 'the client sent session/set_mode without "modeId"'),
    ],
)
def test_sick_recordings_have_somebody_to_blame(name: str, by: str, seq: int, words: str) -> None:
    """At the frame with which it began."""
    found = verdict_of(RECORDINGS / f"{name}.db")
    assert (found.is_trouble, found.by, found.seq) == (True, by, seq)
    assert found.text.startswith(words)


@pytest.mark.parametrize("name", ["hello", "tour", "terminal", "edit-allowed", "cancelled"])
def test_sound_recordings_have_nobody(name: str) -> None:
    """Hints of the rules are no problems."""
    found = verdict_of(RECORDINGS / f"{name}.db")
    assert (found.is_trouble, found.by, found.seq) == (False, None, None)
    assert found.text.startswith("No problem was found")
