"""The expressions that recognize secrets end where they should, in every Python."""

from __future__ import annotations

import pytest

from acp_proxy.redaction.expressions import Expressions


@pytest.mark.parametrize(
    ("name", "text", "matched"),
    [
        ("pem_body", "ab\ncd-----END", "ab\ncd"),
        ("pem_body", "a-b-----END", "a-b"),
        ("base64_lines", "ab\\n\\", "ab\\n"),
        ("base64_lines", "ab\\\\x", "ab"),
    ],
)
def test_a_repetition_ends_before_what_it_cannot_take(name: str, text: str, matched: str) -> None:
    """Where a part of it would fit: Python 3.11.2 went on into that part."""
    found = getattr(Expressions(), name).match(text)
    assert found is not None
    assert found[0] == matched
