"""A transcript that cuts a text keeps the text's beginning and end, however it is chunked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.explain.transcript.contents import TextCollector, cut_text


@given(pieces=st.lists(st.text(max_size=12), max_size=12), most=st.integers(0, 40) | st.none())
def test_pieces_are_kept_up_to_the_limit(pieces: list[str], most: int | None) -> None:
    """If a transcript cuts a text, it keeps the text's beginning and end."""
    collector = TextCollector(most)
    for piece in pieces:
        collector.add(piece)
    whole, cut = "".join(pieces), collector.text
    assert cut == cut_text(whole, most)
    assert whole.startswith(cut.start)
    assert whole.endswith(cut.end)
    assert cut.characters == len(whole)
    if most is None or len(whole) <= most:
        assert (cut.start, cut.end, cut.left_out) == (whole, "", 0)
    else:
        assert cut.left_out == len(whole) - most


def test_halves_of_a_character_are_joined() -> None:
    """A transcript joins a surrogate pair that is split between two chunks."""
    collector = TextCollector(100)
    collector.add("a\ud83d")
    collector.add("\ude00b")
    assert collector.text.start == "a😀b"
