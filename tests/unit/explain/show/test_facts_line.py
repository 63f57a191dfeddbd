"""The line of facts says what was asked and done, and leaves out all that is not known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.explain.show.facts_line import facts_line
from acp_proxy.explain.show.summary import summarize
from acp_proxy.store.reader import RecordingReader
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from pathlib import Path


def line_of(path: Path) -> str:
    """Returns the facts of a recording as one text."""
    with RecordingReader(path) as reader:
        return " · ".join(fact.text for fact in facts_line(summarize(reader)))


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("hang", "1 turn · 4.0 s, 100% agent silent · 1 call never ended ✗"),
        ("tour", "1 turn · 9 ms · 2 calls ✓ · 1 permission (allowed)"),
    ],
)
def test_the_facts_of_a_shipped_recording(name: str, facts: str) -> None:
    """The facts of a shipped recording are the facts that a person would name."""
    assert line_of(DIRECTORY / f"{name}.db") == facts
