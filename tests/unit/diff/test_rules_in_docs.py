"""The page about diffs in the manual matches the code."""

from __future__ import annotations

import re

from acp_proxy.diff.default_rules import RULES
from acp_proxy.diff.diff_result import Expect
from acp_proxy.protocol.updates import STATE_UPDATES
from tests.unit.test_docs import first_cells, page, section

PAGE = page("diff.md")


def test_every_default_rule_has_its_row() -> None:
    """The manual lists every default rule of `diff`."""
    rows = re.findall(
        r"^\| `(/[^`]*)` \| (.*) \|$", section(PAGE, "What differs between any two runs"), re.M
    )
    names = ["a time" if rule.is_time else "left out" for rule in RULES]
    assert rows == [
        (rule.pointer, name if rule.alias is None else f"`{rule.alias}`")
        for rule, name in zip(RULES, names, strict=True)
    ]


def test_every_strictness_has_its_row() -> None:
    """The manual lists every value of `diff --expect`."""
    assert first_cells(section(PAGE, "How much counts"))[1:] == [*Expect]


def test_state_updates_are_named() -> None:
    """The manual page about `diff` lists the state updates that have a sequence of their own."""
    for update in STATE_UPDATES:
        assert f"`{update}`" in section(PAGE, "How it compares")
