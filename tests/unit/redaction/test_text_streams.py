"""A piece of a text is masked together with the text before and after it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from acp_proxy.redaction.edits import MaskedSpan
from acp_proxy.redaction.markers import Markers
from acp_proxy.redaction.pieces import Piece, PieceReader
from acp_proxy.redaction.secret_finder import SecretFinder
from acp_proxy.redaction.text_streams import CONTEXT, NotYet, TextStreams

if TYPE_CHECKING:
    from collections.abc import Iterator

VALUE = "Zq81xplKsecR7tv"


@pytest.fixture
def streams() -> TextStreams:
    """Returns the text streams of a recording in which one secret is known."""
    finder = SecretFinder(Markers(b"k" * 16), ())
    finder.values.add(VALUE, "[m]", named=True)
    return TextStreams(finder, {}, is_thorough=False)


def line(text: str) -> bytes:
    """Returns a line with a piece of a text."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    params = {"sessionId": "s", "update": update}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode()


def piece(text: str) -> Piece:
    """Returns a piece of a text."""
    read = PieceReader().read(line(text))
    assert read is not None
    return read


def test_a_piece_without_anything_passes(streams: TextStreams) -> None:
    """The last characters of a piece are kept, and the others are dropped."""
    key = piece("x").key
    assert streams.passes(key, "all is well")
    assert streams.passes(key, " and so on, for a while, and for a while more")
    end, later = streams.kept[key]
    assert end == " and so on, for a while, and for a while more"[-CONTEXT:]
    assert later == []


@pytest.mark.parametrize("text", ["it is Zq8", "the sk-an", "to"])
def test_an_open_end_does_not_pass(streams: TextStreams, text: str) -> None:
    """A piece does not pass if its end may be the beginning of a secret."""
    assert not streams.passes("k", text)


def test_a_seam_with_a_needle_does_not_pass(streams: TextStreams) -> None:
    """A piece does not pass if a needle begins in the piece before and ends in it."""
    assert streams.passes("k", "a pass")
    assert not streams.passes("k", "word: hunter")


def test_what_is_masked_in_a_piece_to_come(streams: TextStreams) -> None:
    """The marker is in the first piece, and the rest of the secret is removed from the next."""
    first, second = piece("it is " + VALUE[:6]), piece(VALUE[6:] + "!")
    assert streams.spans(first, lambda: iter([line(second.text)])) == [MaskedSpan(6, 12, "[m]")]
    assert not streams.passes(second.key, second.text)
    assert streams.spans(second, lambda: iter(())) == [MaskedSpan(0, 9, "")]


def test_nothing_is_kept_of_a_piece_that_waits(streams: TextStreams) -> None:
    """A piece that waits leaves the stream unchanged, so the caller can pass it again."""

    def unknown() -> Iterator[bytes]:
        raise NotYet

    first = piece("it is " + VALUE[:6])
    with pytest.raises(NotYet):
        streams.spans(first, unknown)
    assert streams.kept == {}
