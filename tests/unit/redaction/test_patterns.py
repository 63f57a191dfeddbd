"""What is a secret in free text."""

import pytest

from acp_proxy.redaction.patterns import Found, find, may_hold, tail

MIXED = "Zf3D0LXCM3" + "EIMbgJpUNn" + "kRtOfOueHz"


@pytest.mark.parametrize(
    ("before", "secret", "after", "kind"),
    [
        ("key ", "sk-" + "ant-api03-" + MIXED, " ok", "key"),
        ("", "gh" + "p_" + MIXED + "a1B2c3", "", "token"),
        ("Authorization: Bearer ", MIXED, "\n", "credential"),
        ("https://user:", "hunter2x", "@host/", "password"),
        ('API_KEY = "', MIXED, '"', "key"),
        ("Basic ", "dXNlcjpw" + "YXNz", "", "credential"),
        ("-----BEGIN RSA PRIVATE KEY-----", "\n" + MIXED + "\n", "-----END RSA", "pem"),
        ("", "ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0.abc", " x", "jwt"),
    ],
)  # fmt: skip
def test_a_secret_is_found(before: str, secret: str, after: str, kind: str) -> None:
    """Its place is that of the secret alone."""
    text = before + secret + after
    found = [Found(len(before), len(before) + len(secret), kind)]
    assert find(text, loose=False) == found
    assert find(text, loose=True) == found
    assert may_hold(text.encode())


def test_a_named_value_is_secret_in_loose_text() -> None:
    """Whatever it is."""
    text = "--token abc --password=def"
    assert find(text, loose=False) == []
    assert find(text, loose=True) == [Found(8, 11, "token"), Found(23, 26, "password")]


def test_the_end_may_begin_a_secret() -> None:
    """From where on the text is to be kept back."""
    for text, start in [("so sk-an", 3), ("Bearer ", 0), ("x eyJhb", 2), ("a password=ab", 2)]:
        assert tail(text) == start
    assert tail("nothing here") == len("nothing here")
