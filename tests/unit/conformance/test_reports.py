"""Rebuilt reports of bugs: a check names the side that broke the protocol, and the frame."""

from __future__ import annotations

import json

import pytest

from acp_proxy.conformance.checker import check
from acp_proxy.conformance.values import Severity
from acp_proxy.store.reader import RecordingReader
from tests.shipped import REPORTS as DATA

ENTRIES = json.loads((DATA / "reports.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["file"])
def test_names_the_side_and_the_frame(entry: dict[str, object]) -> None:
    """The side that the thread's wire log blames, and nobody in healthy conversations."""
    with RecordingReader(DATA / str(entry["file"])) as reader:
        found = check(reader).findings
    serious = [one for one in found if one.severity is not Severity.INFO]
    if entry["side"] is None:
        assert serious == []
        return
    frames = {entry["seq"], *json.loads(json.dumps(entry["also"]))}
    assert any(one.by == entry["side"] and one.seq in frames for one in serious)
