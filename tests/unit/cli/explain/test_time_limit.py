"""A search with a regular expression that takes too long is given up."""

from __future__ import annotations

import re

import pytest

from acp_proxy.base.errors import BadPattern
from acp_proxy.cli.explain import time_limit


def test_a_match_that_takes_too_long_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a regular expression takes too long on a frame, `search` gives up and names the frame."""
    monkeypatch.setattr(time_limit, "_TICK_S", 0.02)
    limit = time_limit.TimeLimit()
    with limit.running(), pytest.raises(BadPattern, match="given up at #7"), limit.at(7):
        re.search("(a+)+$", "a" * 40 + "!")
