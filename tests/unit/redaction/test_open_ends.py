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


@pytest.mark.parametrize("loose", [False, True])
def test_the_value_of_an_option_may_go_on(loose: bool) -> None:
    """The value of an option such as `--token` may be a secret in any text."""
    text = "run --token abc"
    assert tail(text) == tail(text, search(text, loose=loose)) == 4
