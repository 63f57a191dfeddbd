"""Masking finds a known secret again, in all of its forms."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.record.capture.new_recording import secret_hashes
from acp_proxy.redaction.known_secrets import HashedSecrets, SecretValues
from acp_proxy.redaction.needles import GrowingNeedles, one_byte_each
from tests.support.cases import each_case

VALUE = 'Zq81/plain"secret\\é'
SECRETS = st.text(st.characters(codec="utf-8", min_codepoint=33), min_size=12, max_size=60)


def values(*texts: str, named: bool = True) -> SecretValues:
    """Returns known secrets, each with a marker of its own."""
    known = SecretValues()
    for n, text in enumerate(texts):
        known.add(text, f"<{n}>", named=named)
    return known


def masked(known: SecretValues, text: str) -> str:
    """Returns a text in which the known secrets are replaced by their markers."""
    for start, end, marker in reversed(known.find(text)):
        text = text[:start] + marker + text[end:]
    return text


@pytest.mark.parametrize("before", ["", "x", "xy", "user:"])
def test_forms(before: str) -> None:
    """Masking finds a known secret also if it is percent-encoded, in JSON or in base64."""
    known = values(VALUE)
    assert masked(known, f"a {VALUE} b") == "a <0> b"
    assert masked(known, f"?k={quote(VALUE, safe='')}&") == "?k=<0>&"
    assert masked(known, json.dumps({"k": VALUE})) == '{"k": "<0>"}'
    code = base64.b64encode(f"{before}{VALUE} and more".encode()).decode()
    assert "<0>" in masked(known, code)
    assert len(masked(known, code)) < len(code)


@given(SECRETS, st.binary(max_size=5), st.binary(max_size=5))
def test_nothing_of_an_encoded_value_is_left(value: str, before: bytes, after: bytes) -> None:
    """If a secret is within base64, masking leaves at most two characters of the secret."""
    known = values(value)
    if not known.forms:
        return
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        code = encode(before + value.encode() + after).decode()
        start, end, _ = known.find(code)[0]
        assert end - start >= len(value.encode()) * 8 // 6 - 2


@each_case(
    "value",
    [
        "short", "12345678901", "true", "/usr/local/bin", "./node_modules/.bin",
        "C:\\Program Files", "production", "Friday", "api.example.com", "localhost:8080",
    ],
)  # fmt: skip
def test_values_that_are_not_searched_for(value: str) -> None:
    """Masking does not look for a known value that is short, a number or an ordinary word."""
    assert not values(value).forms


@pytest.mark.parametrize(
    "value",
    [
        "claude-sonnet-4-5", "gpt-4o-mini-2024-07-18", "anthropic/claude-opus-4.1",
        "en_US.UTF-8", "http://localhost:8080", "eu-central-1", "20.11.1-alpine",
    ],
)  # fmt: skip
def test_settings_are_secrets_only_by_name(value: str) -> None:
    """A value like a model's name is masked only if its variable has the name of a secret."""
    assert not values(value, named=False).forms
    assert values(value, named=True).forms


@pytest.mark.parametrize(
    "value",
    ["/aB3dE6gH9jK2mN5pQ8sT", "Zq81-plain-secret", "correct horse battery", "7f3kd93kd0slq2"],
)
def test_anything_else_is_a_secret(value: str) -> None:
    """If a known secret is neither a word nor a number, masking searches for it."""
    assert values(value, named=False).forms


def test_lines_of_a_key_are_secrets() -> None:
    """Masking searches for each line of a private key."""
    known = values("-----BEGIN KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJ\nq2w3e4r5t6y7u8i9o0p1\n")
    assert masked(known, "line MIIEpAIBAAKCAQEA0Z3VS5JJ") == "line <0>"


@given(SECRETS, st.integers(3, 11), st.text(max_size=5))
def test_a_beginning_is_noticed(value: str, size: int, before: str) -> None:
    """If a text ends with three or more characters of a known secret, masking holds them back."""
    known = values(value)
    if known.forms:
        assert known.tail(before + value[:size]) <= len(before)


def test_other_ends_are_not_prefixes() -> None:
    """If a text ends with only two characters of a known secret, masking holds nothing back."""
    known = values("Zq81-plain-secret")
    assert known.tail("text Zq") == len("text Zq")
    assert known.tail("Zq81-plain-secret") == len("Zq81-plain-secret")
    assert values().tail("Zq8") == 3


@given(SECRETS)
def test_a_line_with_a_value_has_one_of_its_words(value: str) -> None:
    """Any line with a known secret contains a needle, so masking's quick search finds it."""
    known = values(value)
    if not known.forms:
        return
    for text in (value, quote(value, safe="")):
        for raw in (json.dumps([text]).encode(), json.dumps([text], ensure_ascii=False).encode()):
            assert known.needles.are_in(raw)
    for size in range(3, 8):
        assert known.ends_open("x" + value[:size])


def test_the_number_of_values_is_bounded() -> None:
    """Masking remembers only a limited number of secrets."""
    known = values(*(f"Zq81-plain-secret-{n}" for n in range(3000)))
    assert len(known.markers) == 1000


def test_an_escaped_value_in_an_invalid_line() -> None:
    """If a secret is escaped twice as JSON, masking finds the secret in the text of the line."""
    known = values(VALUE)
    line = json.dumps({"text": json.dumps({"k": VALUE})})
    assert masked(known, line) == line.replace(json.dumps(json.dumps(VALUE)[1:-1])[1:-1], "<0>")


def test_pieces_of_values_are_found_in_bytes() -> None:
    """In raw bytes, masking finds each piece of a known secret that has at least eight bytes."""
    known = SecretValues()
    assert [*known.fragments(b"Vb7QxL2mRk9TzWp4")] == []
    known.add("Vb7QxL2mRk9TzWp4Yc8N", "[m]", named=True)
    pieces = [*known.fragments(b"end of a line: Vb7QxL2mR")]
    assert pieces == [(15, 23, "[m]"), (16, 24, "[m]")]
    assert not [*known.fragments(b"too short: Vb7QxL2")]
    code = base64.b64encode(b"a:Vb7QxL2mRk9TzWp4Yc8N")[8:20]
    assert [*known.fragments(code)]


KEY = b"k" * 16
HASHED = "Xk27fYqpLm92vbTa"


def recognized(lines: list[str], text: str) -> list[str]:
    """Returns the secrets that masking recognizes in a text by their hashes."""
    needles = GrowingNeedles()
    known = HashedSecrets(lines, KEY, needles)
    return [*known.recognized(text, needles.places(one_byte_each(text)))]


def test_a_hash_is_recognized_in_any_text() -> None:
    """Masking finds a secret of the recorder's environment by its hash alone."""
    lines = secret_hashes(
        {"A_TOKEN": HASHED, "B_TOKEN": "other" + HASHED, "C_KEY": 'with"quotes\\'}, KEY
    )
    assert recognized(lines, f"x{HASHED}y é {HASHED[1:]} vbTa") == [HASHED]
    assert recognized(lines, 'é with"quotes\\') == ['with"quotes\\']


@pytest.mark.parametrize("line", ["", "x", "a b c d", "00 99999 0 abcd", "00 5 x abcd", "00 5 99"])
def test_a_foreign_line_is_nothing(line: str) -> None:
    """If a stored line about hashes of secrets is malformed, masking ignores the line."""
    assert recognized([line], "abcd" * 3) == []
