"""The end of a text may be the beginning of a secret."""

import pytest

from acp_proxy.redaction.open_ends import ends_open, tail
from acp_proxy.redaction.patterns import search


@pytest.mark.parametrize(
    ("text", "start"),
    [("so sk-an", 3), ("Bearer ", 0), ("x eyJhb", 2), ("a password=ab", 2), ("a\\npassword", 1)],
)
def test_the_end_may_begin_a_secret(text: str, start: int) -> None:
    """From where on the text is to be kept back, also by a search that was made before."""
    assert tail(text) == start
    assert tail(text, search(text, loose=False)) == start
    assert tail(text, search(text, loose=True)) == start


def test_other_ends_begin_none() -> None:
    """The index is that of the end."""
    assert tail("nothing here") == len("nothing here")
    assert tail("a token is spent") == len("a token is spent")
    assert not ends_open("nothing here")


def test_an_option_counts_only_where_a_name_is_enough() -> None:
    """The search says what kind of secret may begin."""
    text = "run --token abc"
    assert tail(text) == tail(text, search(text, loose=True)) == 4
    assert tail(text, search(text, loose=False)) == len(text)
