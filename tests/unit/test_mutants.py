"""Mutants are counted module by module."""

from __future__ import annotations

import pytest

from tests.mutants import table


def results(survivors: int) -> str:
    """What is printed of twenty mutants."""
    verdicts = ["survived"] * survivors + ["killed"] * (19 - survivors) + ["timeout"]
    lines = [f"    acp_proxy.a.b.x_f__mutmut_{n}: {v}" for n, v in enumerate(verdicts)]
    return "\n".join(
        [*lines, "    acp_proxy.a.c.xǁTǁf__mutmut_1: killed", "and other text: killed"]
    )


@pytest.mark.parametrize(("survivors", "is_enough"), [(3, True), (4, False)])
def test_each_module_needs_85_percent(survivors: int, is_enough: bool) -> None:
    """A timeout counts as noticed."""
    share = 100 - 5 * survivors
    assert table(results(survivors)) == (
        [f" {share}% of   20 noticed  acp_proxy.a.b", "100% of    1 noticed  acp_proxy.a.c"],
        is_enough,
    )


def test_no_mutants_fail() -> None:
    """A run that made none has tested nothing."""
    assert table("") == ([], False)
