"""A secret of which only a hash is known is recognized in any text."""

from __future__ import annotations

import pytest

from acp_proxy.capture.secret_variables import hashes
from acp_proxy.redaction.hashed_secrets import HashedSecrets
from acp_proxy.redaction.needles import GrowingNeedles, one_byte_each

KEY = b"k" * 16
VALUE = "Xk27fYqpLm92vbTa"


def recognized(lines: list[str], text: str) -> list[str]:
    """Returns the secrets that are recognized in a text."""
    needles = GrowingNeedles()
    known = HashedSecrets(lines, KEY, needles)
    return [*known.recognized(text, needles.places(one_byte_each(text)))]


def test_a_hash_is_recognized_in_any_text() -> None:
    """A value is found by its hash wherever it stands, and a part of it is not."""
    lines = hashes({"A_TOKEN": VALUE, "B_TOKEN": "other" + VALUE, "C_KEY": 'with"quotes\\'}, KEY)
    assert recognized(lines, f"x{VALUE}y é {VALUE[1:]} vbTa") == [VALUE]
    assert recognized(lines, 'é with"quotes\\') == ['with"quotes\\']


@pytest.mark.parametrize("line", ["", "x", "a b c d", "00 99999 0 abcd", "00 5 x abcd", "00 5 99"])
def test_a_foreign_line_is_nothing(line: str) -> None:
    """What no recorder writes is skipped."""
    assert recognized([line], "abcd" * 3) == []
