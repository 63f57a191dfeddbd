"""What a check found, in a few lines."""

from __future__ import annotations

import pytest

from acp_proxy.conformance.catalogue import rules
from acp_proxy.conformance.judgement import check_whole
from acp_proxy.conformance.report import reported
from acp_proxy.conformance.short_text import short_text
from tests.judged import before, reader_of

NO_RESULT = '<- {"jsonrpc": "2.0", "id": 1}'


def short(lines: list[str], most: int = 18) -> list[str]:
    """Checks a conversation and returns the lines."""
    with reader_of(lines) as reader:
        return short_text(reported(reader, check_whole(reader), rules()), most)


def test_each_rule_is_a_line() -> None:
    """The worst first, with how often, and the first frame."""
    total, *lines = short([NO_RESULT, NO_RESULT, '-> m {"a": 1}'])
    assert total.startswith(f"{sum(line.startswith('✗') for line in lines) + 1} errors")
    assert "looked at 3 frames" in total
    assert any(
        line.startswith("✗ rpc.no-result-or-error by the agent, 2 times: #1: ") for line in lines
    )
    marks = [line[0] for line in lines]
    assert marks == sorted(marks, key="✗!-".index)


@pytest.mark.parametrize("most", [0, 1])
def test_only_the_first_rules_are_listed(most: int) -> None:
    """And how many more there are."""
    _, *lines = short([NO_RESULT, '-> m {"a": 1}'], most)
    assert len(lines) == most + 1
    assert lines[-1].startswith("and ")


def test_a_clean_recording_is_one_line() -> None:
    """How many rules looked at how many frames."""
    (line,) = short([*before("a v1 handshake"), "== client leaves"])
    assert line.startswith("nothing is wrong: ")
    assert line.endswith(" of v1 looked at 2 frames")
