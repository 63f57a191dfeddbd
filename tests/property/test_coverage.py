"""The coverage of any messages is counted, and nothing is raised."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from acp_proxy.conformance.coverage import Coverage
from acp_proxy.store.reader import RecordingReader
from tests.any_messages import STEPS, recorded


@given(STEPS)
def test_any_messages_have_a_coverage(steps: list[tuple[int, Any]]) -> None:
    """No section has seen more than it defines, and no request has more than one answer."""
    coverage = Coverage()
    with recorded(steps) as path, RecordingReader(path) as reader:
        coverage.add(reader)
    for dialect in coverage.report().dialects:
        for section in dialect.sections:
            assert section.seen <= section.defined <= len(section.items)
            for item in section.items:
                assert bool(item.count) == bool(item.recordings) == (item.first is not None)
                assert sum((item.answers or {}).values()) <= item.count
