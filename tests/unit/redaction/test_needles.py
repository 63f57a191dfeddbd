"""Words are found wherever they stand, in any case, also within each other."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.redaction.needles import Needles

WORDS = st.lists(st.text("aBc-", min_size=1, max_size=4), min_size=1, max_size=6)


@given(WORDS, st.text("AabBcC-.", max_size=30))
def test_each_place_is_found(words: list[str], text: str) -> None:
    """The result is that of a search for each word at each place."""
    needles = Needles([word.encode() for word in words])
    expected = {
        (n, start)
        for n, word in enumerate(words)
        for start in range(len(text))
        if text.lower().startswith(word.lower(), start)
    }
    found = {(words[n].lower(), start) for n, start in needles.places(text.encode())}
    assert found == {(words[n].lower(), start) for n, start in expected}
    assert needles.are_in(text.encode()) == bool(expected)


def test_any_bytes_are_searched() -> None:
    """Bytes that are not UTF-8 can be searched as well."""
    assert Needles([b"\xff\xfe"]).are_in(b"a\xff\xfeb")
