"""Writes the page of a comparison: all of it is in the page, and its script only moves about."""

import functools
from collections.abc import Iterator

from acp_proxy.report.comparison import ComparisonFacts
from acp_proxy.report.page import read_script, read_style, rendered

_SCRIPT = "comparison/comparison.js"
_STYLES = ("styles/base.css", "comparison/comparison.css")


def comparison_parts(comparison: ComparisonFacts) -> Iterator[bytes]:
    """Yields the bytes of the page, in order.

    Args:
        comparison: what it shows.
    """
    script, style = comparison_assets()
    yield from rendered(
        "comparison.html.j2", (script,), style, found=comparison, step_ns=comparison.step_ns
    )
    yield f"<script>{script}</script>\n</body>\n</html>\n".encode()


@functools.cache
def comparison_assets() -> tuple[str, str]:
    """Returns the script and the style of all comparisons.

    Raises:
        NotJoined: its module cannot be part of a page.
    """
    return read_script(_SCRIPT), read_style(_STYLES)
