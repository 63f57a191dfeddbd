"""Masking treats a chunk of a streamed text together with the chunks before and after it."""

from __future__ import annotations

import json
from functools import partial
from itertools import islice, product
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.protocol.jsonrpc import Stream, read
from acp_proxy.redaction.edits import MaskedSpan, apply
from acp_proxy.redaction.markers import Markers
from acp_proxy.redaction.redactor import Redactor, RedactorState
from acp_proxy.redaction.secret_finder import SecretFinder
from acp_proxy.redaction.text_pieces import Piece, PieceReader
from acp_proxy.redaction.text_streams import CONTEXT, NotYet, TextStreams

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acp_proxy.redaction.text_search import Search

VALUE = "Zq81xplKsecR7tv"


@pytest.fixture
def streams() -> TextStreams:
    """Returns the text streams of a recording in which masking knows one secret."""
    finder = SecretFinder(Markers(b"k" * 16), ())
    finder.values.add(VALUE, "[m]", named=True)
    return TextStreams(finder, {}, is_thorough=False)


def line(text: str) -> bytes:
    """Returns a line with a chunk of a text."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    params = {"sessionId": "s", "update": update}
    return json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode()


def piece(text: str) -> Piece:
    """Returns a chunk of a text."""
    read = PieceReader().read(line(text))
    assert read is not None
    return read


def test_a_piece_without_anything_passes(streams: TextStreams) -> None:
    """If a chunk has no sign of a secret, masking lets it pass and keeps only its last part."""
    key = piece("x").key
    assert streams.passes(key, "all is well")
    assert streams.passes(key, " and so on, for a while, and for a while more")
    end, later = streams.kept[key]
    assert end == " and so on, for a while, and for a while more"[-CONTEXT:]
    assert later == []


@pytest.mark.parametrize("text", ["it is Zq8", "the sk-an", "to"])
def test_an_open_end_does_not_pass(streams: TextStreams, text: str) -> None:
    """If a chunk may end with the start of a secret, masking holds the chunk back."""
    assert not streams.passes("k", text)


def test_a_seam_with_a_needle_does_not_pass(streams: TextStreams) -> None:
    """If the name of a secret is split between two chunks, masking finds it."""
    assert streams.passes("k", "a pass")
    assert not streams.passes("k", "word: hunter")


def test_the_rest_of_a_secret_is_removed_from_the_next_piece(streams: TextStreams) -> None:
    """If two chunks split a secret, the first gets the marker, and the second loses its part."""
    first, second = piece("it is " + VALUE[:6]), piece(VALUE[6:] + "!")
    assert streams.spans(first, lambda: iter([line(second.text)])) == [MaskedSpan(6, 12, "[m]")]
    assert not streams.passes(second.key, second.text)
    assert streams.spans(second, lambda: iter(())) == [MaskedSpan(0, 9, "")]


def test_nothing_is_kept_of_a_piece_that_waits(streams: TextStreams) -> None:
    """While masking holds a chunk back, its state does not contain the chunk's text."""

    def unknown() -> Iterator[bytes]:
        raise NotYet

    first = piece("it is " + VALUE[:6])
    with pytest.raises(NotYet):
        streams.spans(first, unknown)
    assert streams.kept == {}


KEYS = (
    "sk-ant-api03-aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAaB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAabcdef-1a2b3cAA",
    "ghp_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAaB3d",
    "AIzaSyB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAa1",
    "xoxb-123456789012-aB3dE5gH7jK9mN1pQ2rS4tU6",
    "npm_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAaB3d",
    "hf_aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAaB",
    "AKIAQ7X2M9K4L1P8R3T6",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:4])
@pytest.mark.parametrize("size", [1, 3, 7, 200])
def test_a_key_is_masked_whatever_stands_around_its_pieces(key: str, size: int) -> None:
    """Masking finds a key that is split over several messages."""
    for before, after in product(("found it", "it ", "", "key_", "9"), ("more", " and", "", "-M")):
        redactor = Redactor(RedactorState("00"))
        pieces = [key[at : at + size] for at in range(0, len(key), size)]
        lines = [line(text) for text in (before, *pieces, after, " end")]
        shown = ""
        for number, raw in enumerate(lines, 1):
            following = partial(islice, lines, number, None)
            edits = redactor.line(Stream.TO_CLIENT, raw, following, read(raw))
            shown += json.loads(apply(raw, edits))["params"]["update"]["content"]["text"]
        assert key[8:] not in shown, (before, after)
        assert shown.startswith(before)
        assert "[redacted:" in shown


BODY = "".join(f"aZ{n:03}kQx7" for n in range(220))
LONG = (
    f"eyJhbGciOiJIUzI1NiJ9.eyJz{BODY}.dozjgNryP4J3jVmNHl0w5N",
    f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----",
)


@pytest.mark.parametrize("key", LONG, ids=["token", "private key"])
def test_a_long_key_in_many_pieces_is_masked(key: str) -> None:
    """Masking replaces a long key in very many chunks to its end."""
    redactor, shown = Redactor(RedactorState("00")), ""
    pieces = [key[at : at + 3] for at in range(0, len(key), 3)]
    lines = [line(text) for text in ("found ", *pieces, " end")]
    for number, raw in enumerate(lines, 1):
        edits = redactor.line(
            Stream.TO_CLIENT, raw, partial(islice, lines, number, None), read(raw)
        )
        shown += json.loads(apply(raw, edits))["params"]["update"]["content"]["text"]
    assert not [at for at in range(0, len(BODY), 8) if BODY[at : at + 8] in shown]
    assert shown.startswith("found ")
    assert shown.endswith(" end")


def test_another_message_is_another_text() -> None:
    """Masking does not join chunks that have different message ids."""
    ids = [line("x").replace(b'"content"', b'"messageId":"%s","content"' % name) for name in
           (b"a", b"b")]  # fmt: skip
    first, second = (PieceReader().read(raw) for raw in ids)
    assert first is not None
    assert second is not None
    assert first.key != second.key


@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param(["token="], id="names without values"),
        pytest.param(["token=a1B2c3D4e5F6"], id="values that are one"),
        pytest.param(["token", "="], id="names in pieces"),
        pytest.param(["token=", *"aXb1YcZ2dW3eV4fU5" * 4_000], id="a value without an end"),
    ],
)
def test_time_grows_with_the_pieces(pieces: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """However a streamed text is split, masking reads each of its characters only a few times."""
    searched: list[int] = []
    search = SecretFinder.search

    def counting(finder: SecretFinder, text: str, **options: Any) -> Search:
        searched.append(len(text))
        return search(finder, text, **options)

    monkeypatch.setattr(SecretFinder, "search", counting)
    lines = [line(pieces[at % len(pieces)]) for at in range(4_000 if len(pieces) < 9 else 8_000)]
    redactor = Redactor(RedactorState("00" * 16))
    for at, raw in enumerate(lines):
        redactor.line(Stream.TO_CLIENT, raw, partial(islice, lines, at + 1, None))
    assert sum(searched) < 100 * sum(map(len, lines))


def test_a_secret_is_masked_in_a_stream_that_began_before_it_was_known() -> None:
    """If a secret is recognized while a text is streamed, it is masked in all later chunks."""
    secret = "Wk2mXs81qPz0Rt5v"
    lines = [line("token="), *map(line, [" x ", *["token="] * 900, f" {secret} "])]
    redactor = Redactor(RedactorState("00" * 16))
    for at, raw in enumerate(lines[:-1]):
        redactor.line(Stream.TO_CLIENT, raw, partial(islice, lines, at + 1, None))
    redactor.text(f"API_KEY={secret}")
    masked = apply(lines[-1], redactor.line(Stream.TO_CLIENT, lines[-1]))
    assert secret.encode() not in masked
