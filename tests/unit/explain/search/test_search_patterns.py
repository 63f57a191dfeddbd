"""A search pattern finds a text with and without JSON escapes, and may ignore case."""

from __future__ import annotations

import pytest

from acp_proxy.base.errors import BadPattern
from acp_proxy.explain.search.search_patterns import Pattern, escaped_strings, strings, undone
from tests.support.cases import each_case


@each_case(
    ("pattern", "text", "is_found"),
    [
        ("hello", "Hello", True),
        ("Hello", "hello", False),
        ("HELLO", "HELLO", True),
        ("a.c", "abc", False),
        ("é", "É", True),
        ("straße", "STRASSE", False),
        ("k", "\u212a", True),
        ("\u017f", "s", True),
        ("你好", "x你好", True),
    ],
)
def test_case_matters_if_there_is_a_capital(pattern: str, text: str, is_found: bool) -> None:
    """`search` ignores case if the pattern has no capital letters."""
    assert Pattern(pattern).is_in(text) == is_found
    assert Pattern(pattern).may_be_in(text.encode()) >= is_found


def test_case_can_be_chosen() -> None:
    """With the option `-i`, `search` ignores case; with `-s`, it matches only the same case."""
    assert Pattern("Hello", ignore_case=True).is_in("hELLO")
    assert not Pattern("hello", ignore_case=False).is_in("Hello")


@each_case(
    ("pattern", "text", "is_found"),
    [
        (r"\Sb", "AB", True),
        (r"(?P<Name>b)", "B", True),
        (r"[^a]x", "AX", False),
        (r"[@-\[]", "q", True),
        (r"\x41", "a", True),
        (r"^b", "a\nB", True),
        (r"a$", "A\nb", True),
        (r"(foo|bar)x", "FOOX", True),
        (r"Foo|bar", "foo", False),
    ],
)
def test_a_regular_expression_in_lower_case_finds_any_case(
    pattern: str, text: str, is_found: bool
) -> None:
    r"""A regular expression of `search` in lower case ignores case, even if it has `\S`."""
    sought = Pattern(pattern, is_regex=True)
    assert sought.is_in(text) == is_found
    assert sought.may_be_in(text.encode()) >= is_found


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(a", "bad pattern at column 1: missing ), unterminated subpattern"),
        ("ab[c", "bad pattern at column 3: unterminated character set"),
        ("*", "bad pattern at column 1: nothing to repeat"),
        ("", "bad pattern: expected a text to search for, got an empty text"),
    ],
)
def test_an_invalid_pattern_is_an_error_with_its_column(pattern: str, message: str) -> None:
    """If a pattern of `search` is invalid, the error names the column of the mistake."""
    with pytest.raises(BadPattern) as caught:
        Pattern(pattern, is_regex=True)
    assert str(caught.value) == message


@each_case(
    ("pattern", "asks"),
    [("a^b", True), ("a$", True), (r"\Aa", True), ("(?=a)", True), ("(?<!a)b", True),
     ("[^a]b", False), (r"\$a\^", False), (r"\ba\B", False), ("a(?:b)", False)],
)  # fmt: skip
def test_assertions_are_recognized(pattern: str, asks: bool) -> None:
    """`search` recognizes assertions in a regular expression, such as `^` or `(?=a)`."""
    assert Pattern(pattern, is_regex=True).has_assertions == asks


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"caf\u00e9", "café"),
        (r"\ud83d\ude00", "😀"),
        (r"a\"b\\c\/d\n", 'a"b\\c/d\n'),
        (r"\ud83d", "\ud83d"),
        (r"\\u0041", r"\u0041"),
        ("\\u12", "u12"),
    ],
)
def test_escapes_are_undone(written: str, meant: str) -> None:
    """`search` decodes every escape of JSON."""
    assert undone(written) == meant


def test_strings_are_found_in_a_line() -> None:
    """`search` finds the member names and strings in a JSON line, even if the line is cut off."""
    line = r'{"a":"b\"c","\u0064":[1,"e"],"f":"cut \n'
    assert strings(line) == ["a", 'b"c', "d", "e", "f", "cut \n"]
    assert escaped_strings(line) == ['b"c', "d", "cut \n"]
