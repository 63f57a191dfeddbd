"""`Search` finds where names begin, and limits how often a run of characters is read."""

from __future__ import annotations

import pytest

from acp_proxy.redaction.text_search import Expressions, Search, name_end, name_start, scheme_start


def test_a_run_is_read_a_few_times() -> None:
    """The search for secrets reads a long run of equal characters at most nine times."""
    search = Search("a" * 100, [], loose=False)
    assert search.may_read("hex", 0)
    search.have_read("hex", 0, 50)
    assert [search.may_read("hex", n) for n in range(1, 12)] == [True] * 8 + [False] * 3
    assert search.may_read("hex", 50)
    assert search.opened == []


def test_a_run_to_the_end_is_open() -> None:
    """The search for secrets notes where a run of characters begins that reaches the text's end."""
    search = Search("a" * 100, [], loose=False)
    search.have_read("hex", 7, 100)
    assert search.opened == [7]


def test_a_word_begins_after_another_character() -> None:
    """For the search for secrets, a word begins after a space, escape or mark, not a letter."""
    for text in ("x", " x", "中x", "\\nx", "%20x", "\x1b[32mx", "-x"):
        assert Search(text, [], loose=False).begins_word(len(text) - 1), text
    for text in ("ax", "1x", "+x"):
        assert not Search(text, [], loose=False).begins_word(len(text) - 1), text
    assert not Search("-x", [], loose=False).begins_word(1, joined=True)


def test_names_and_schemes_are_found_around_a_place() -> None:
    """From a place in a text, `name_start` finds `--db.api_KEY`, and `scheme_start` `git+ssh`."""
    text = "--db.api_KEY=x"
    assert (name_start(text, 9), name_end(text, 9)) == (0, 12)
    assert scheme_start("see git+ssh://x", 11) == 4


@pytest.mark.parametrize(
    ("name", "text", "matched"),
    [
        ("pem_body", "ab\ncd-----END", "ab\ncd"),
        ("pem_body", "a-b-----END", "a-b"),
        ("base64_lines", "ab\\n\\", "ab\\n"),
        ("base64_lines", "ab\\\\x", "ab"),
    ],
)
def test_a_repetition_ends_before_a_partial_match(name: str, text: str, matched: str) -> None:
    """In base64 or a key, the search for secrets stops before `-----END` and incomplete escapes."""
    match = getattr(Expressions(), name).match(text)
    assert match is not None
    assert match[0] == matched
