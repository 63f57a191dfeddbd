"""The page of all rules in the manual matches the catalogue of rules."""

from __future__ import annotations

from acp_proxy.check.catalogue import left_out, rules
from tests.tools.rules_page import PAGE, page


def test_the_page_is_current() -> None:
    """The manual page about the rules of `check` is what `make rules` writes."""
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_rule_has_its_row() -> None:
    """The manual page about the rules of `check` lists every rule."""
    text = page()
    for name in (*rules(), *left_out()):
        anchor = f'<a id="{name.replace(".", "-")}"></a>' * (name in rules())
        assert text.count(f"\n| {anchor}`{name}` | ") == 1
