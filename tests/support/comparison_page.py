"""Makes the HTML pages of `diff`, and parses them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acp_proxy.report.compared_page import ComparisonFacts, read_comparison
from acp_proxy.report.page import comparison_parts
from acp_proxy.store.reader import RecordingReader
from tests.support.report_page import Page
from tests.support.shipped_recordings import SHIPPED

if TYPE_CHECKING:
    from acp_proxy.diff.diff_result import Diff


def page_of(comparison: ComparisonFacts) -> Page:
    """Returns the parsed HTML page of a comparison."""
    return Page(b"".join(comparison_parts(comparison)).decode())


def made_up(comparison: Diff, **more: Any) -> ComparisonFacts:
    """Returns the facts for the page of a comparison that no two recordings have."""
    with RecordingReader(SHIPPED[0]) as reader:
        return read_comparison(comparison, (reader, reader), **more)
