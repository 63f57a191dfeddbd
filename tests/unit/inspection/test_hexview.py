"""Bytes that are no text are shown where they stand."""

from __future__ import annotations

import pytest

from acp_proxy.inspection.hexview import hex_view


def test_a_row_has_its_place_its_bytes_and_its_letters() -> None:
    """As every hex viewer does: the offset, sixteen bytes, and what of them is ASCII."""
    assert list(hex_view(b"caf\xe9 \x1b[2J and more")) == [
        "00000000  63 61 66 e9 20 1b 5b 32 4a 20 61 6e 64 20 6d 6f  caf. .[2J and mo",
        "00000010  72 65                                            re",
    ]


@pytest.mark.parametrize("raw", [b"", b"text", "你好é😀".encode() * 3000])
def test_text_has_none(raw: bytes) -> None:
    """Where all is UTF-8 there is nothing to show, however it falls into pieces."""
    assert list(hex_view(raw)) == []


def test_only_the_surroundings_are_shown() -> None:
    """The row with the byte and its neighbours; dots stand for the rest."""
    shown = list(hex_view(b"x" * 100_000 + b"\xff" + b"y" * 100_000))
    assert [row[:8] for row in shown] == ["…", "00018690", "000186a0", "000186b0", "…"]
    assert " ff 79 " in shown[2]


def test_there_is_an_end_to_it() -> None:
    """Of a line that is no text at all the beginning is shown."""
    shown = list(hex_view(b"\xff" * 1_000_000))
    assert len(shown) == 33
    assert shown[-1] == "…"


def test_half_a_character_at_the_end_is_found() -> None:
    """A line that ends in the middle of a character is not UTF-8."""
    assert list(hex_view("é".encode()[:1])) == [
        "00000000  c3                                               ."
    ]
