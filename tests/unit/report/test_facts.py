"""`report.facts`: lists are cut, and bars have the width of their time."""

from __future__ import annotations

from acp_proxy.inspection.measures.turn_times import Part
from acp_proxy.report.facts import BAR, bar, shortened


def test_a_list_says_how_much_is_left() -> None:
    """Beyond what is shown."""
    assert (shortened([1, 2, 3], 2).items, shortened([1, 2, 3], 2).more) == ([1, 2], 1)
    assert (shortened([1, 2], 2).items, shortened([1, 2], 2).more) == ([1, 2], 0)


def test_a_bar_is_as_wide_as_its_time() -> None:
    """Pieces follow each other without a gap, and a short one can still be seen."""
    spent = dict.fromkeys(Part, 0) | {Part.SILENT: 30, Part.PERSON: 60, Part.FILES: 10}
    pieces = bar(spent, 100)
    assert [(one.part, one.x, one.width, one.ns) for one in pieces] == [
        ("silent", 0, 300, 30),
        ("person", 300, 600, 60),
        ("files", 900, 100, 10),
    ]
    assert [one.width for one in bar(spent, 10**9)] == [1, 1, 1]
    assert sum(one.width for one in bar(dict.fromkeys(Part, 7), 7 * len(Part))) == BAR
