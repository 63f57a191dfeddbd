"""Times and numbers are formatted for people."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from acp_proxy.base.wording import counted, when


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "just now"),
        (59, "just now"),
        (60, "1 min ago"),
        (3599, "59 min ago"),
        (7200, "2 h ago"),
        (6 * 86400, "6 d ago"),
        (7 * 86400, "2025-06-08"),
        (-5, "2025-06-15"),
    ],
)
def test_recent_times_are_relative(
    monkeypatch: pytest.MonkeyPatch, seconds: int, text: str
) -> None:
    """`when` writes a time within the last week as an age, and any other time as a date."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    now = datetime(2025, 6, 15, 12, tzinfo=UTC)
    assert when(now - timedelta(seconds=seconds), now) == text


def test_only_one_is_singular() -> None:
    """`counted` writes a noun in the singular after 1, and in the plural after other numbers."""
    assert [counted(number, "frame") for number in range(3)] == ["0 frames", "1 frame", "2 frames"]
