"""Times are told as a person would tell them."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from acp_proxy.wording import when


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
def test_it_is_said_how_long_ago(monkeypatch: pytest.MonkeyPatch, seconds: int, text: str) -> None:
    """For a week by how long ago it was, then by its date; the future has a date as well."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    now = datetime(2025, 6, 15, 12, tzinfo=UTC)
    assert when(now - timedelta(seconds=seconds), now) == text
