"""Variables of our environment that are secrets are known by hashes."""

from __future__ import annotations

import pytest

from acp_proxy.capture.secret_variables import hashes
from acp_proxy.redaction.hashed_secrets import HashedSecrets
from acp_proxy.redaction.needles import GrowingNeedles, one_byte_each

KEY = b"k" * 16
VALUE = "Xk27fYqpLm92vbTa"


@pytest.mark.parametrize(
    "name",
    [
        "MY_API_TOKEN", "OPENAI_API_KEY", "DB_PASSWORD", "client_secret", "PGPASSWORD", "GH_PAT",
        "AWS_SECRET_ACCESS_KEY", "SENTRY_DSN", "TOKEN2", "SLACK_WEBHOOK_URL", "SECRET_KEY_BASE",
    ],
)  # fmt: skip
def test_a_name_that_says_secret(name: str) -> None:
    """A value with such a name has a hash, from which nothing but four characters can be read."""
    (line,) = hashes({name: VALUE}, KEY)
    digest, length, start, word = line.split(" ")
    assert (len(digest), length, start, word) == (32, "16", "12", "vbTa")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GPG_KEY", "7169605F62C751356D054A26A821E680E5FA6305"), ("MY_PUBLIC_KEY", VALUE),
        ("PATH", VALUE), ("TOKENIZER", VALUE), ("MONKEY", VALUE), ("PWD", VALUE),
        ("A_TOKEN", "short"), ("A_TOKEN", "production"), ("A_TOKEN", "1234567890"),
        ("SSH_KEY", "/home/me/.ssh/id"), ("A_KEY", "api.example.com:443"), ("A_KEY", ""),
    ],
)  # fmt: skip
def test_what_is_no_secret(name: str, value: str) -> None:
    """Public fingerprints, other names, and short, plain and public values have no hash."""
    assert hashes({name: value}, KEY) == []


def recognized(lines: list[str], text: str) -> list[str]:
    """Returns the secrets that are recognized in a text."""
    needles = GrowingNeedles()
    known = HashedSecrets(lines, KEY, needles)
    return [*known.recognized(text, needles.places(one_byte_each(text)))] if known else []


def test_a_hash_is_recognized_in_any_text() -> None:
    """A value is found by its hash wherever it stands, and a part of it is not."""
    lines = hashes({"A_TOKEN": VALUE, "B_TOKEN": "other" + VALUE, "C_KEY": 'with"quotes\\'}, KEY)
    assert recognized(lines, f"x{VALUE}y é {VALUE[1:]} vbTa") == [VALUE]
    assert recognized(lines, 'é with"quotes\\') == ['with"quotes\\']


@pytest.mark.parametrize("line", ["", "x", "a b c d", "00 99999 0 abcd", "00 5 x abcd", "00 5 99"])
def test_a_foreign_line_is_nothing(line: str) -> None:
    """What no recorder writes is skipped."""
    assert recognized([line], "abcd" * 3) == []
