"""A single mistake in a clean conversation breaks exactly one rule of `check`."""

from __future__ import annotations

import pytest

from tests.support.broken_conversations import (
    CONVERSATIONS,
    Change,
    changed,
    changes,
    findings,
    is_error,
    lines_of,
)

BY_HAND, MECHANICAL, HARMLESS = (
    [*changes(table)] for table in ("broken-by-hand", "broken-mechanically", "harmless")
)


def named(change: Change) -> str:
    """Returns the name of the test of a change."""
    return change.name


@pytest.mark.parametrize("conversation", CONVERSATIONS)
def test_nothing_is_found_in_a_clean_conversation(conversation: str) -> None:
    """`check` finds nothing in a clean conversation, not even a hint."""
    assert findings(lines_of(conversation)) == []


@pytest.mark.parametrize("change", BY_HAND + MECHANICAL, ids=named)
def test_one_change_breaks_one_rule(change: Change) -> None:
    """Each mistake that the tests put into a correct conversation breaks one rule of `check`."""
    assert sorted(findings(changed(change))) == sorted(change.findings)
    assert change.findings
    assert not any(is_error(finding) for finding in change.findings[1:])


@pytest.mark.parametrize("change", HARMLESS, ids=named)
def test_a_legal_change_breaks_no_rule(change: Change) -> None:
    """`check` finds nothing after a legal change of a conversation, such as a second cancel."""
    assert change.findings == ()
    assert findings(changed(change)) == []


def test_there_are_enough_mistakes_by_hand_and_by_machine() -> None:
    """The tests of `check` have at least 60 handwritten and 60 generated mistakes."""
    assert len(BY_HAND) >= 60
    assert len(MECHANICAL) >= 60
    assert {change.conversation for change in BY_HAND} == {*CONVERSATIONS}
    assert {change.conversation for change in MECHANICAL} == {*CONVERSATIONS}
