"""The end of a text that may be the beginning of a secret is found."""

import pytest

from acp_proxy.redaction.open_ends import ends_open, tail
from acp_proxy.redaction.patterns import search


@pytest.mark.parametrize(
    ("text", "start"),
    [("so sk-an", 3), ("Bearer ", 0), ("x eyJhb", 2), ("a password=ab", 2), ("a\\npassword", 1)],
)
def test_the_end_may_begin_a_secret(text: str, start: int) -> None:
    """The index is the beginning of the secret, with or without an earlier search of the text."""
    assert tail(text) == start
    assert tail(text, search(text, loose=False)) == start
    assert tail(text, search(text, loose=True)) == start


def test_other_ends_begin_none() -> None:
    """If no secret can begin at the end, the index is the length of the text."""
    assert tail("nothing here") == len("nothing here")
    assert tail("a token is spent") == len("a token is spent")
    assert not ends_open("nothing here")


def test_an_option_counts_only_where_a_name_is_enough() -> None:
    """The value of an option such as `--token` counts in a loose search only."""
    text = "run --token abc"
    assert tail(text) == tail(text, search(text, loose=True)) == 4
    assert tail(text, search(text, loose=False)) == len(text)
