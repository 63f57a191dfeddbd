"""`report.page`: the page of a report is valid, small and safe."""

from __future__ import annotations

import re

from acp_proxy.report.page import assets

LARGEST = 150_000
"""Bytes of a page without data."""


def test_the_assets_are_small_and_self_contained() -> None:
    """They load nothing, and cannot end their own element."""
    made = assets()
    assert len("".join((made.script, made.worker, made.style)).encode()) < LARGEST - 30_000
    assert not re.search(r"url\(|@import|@font-face", made.style)
    for text in (made.script, made.worker, made.style):
        assert not re.search(r"</?(script|style)|<!--", text, re.IGNORECASE)
