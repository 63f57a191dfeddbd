"""A preview shows binary data by type and size, and keeps text that only looks like base64."""

from __future__ import annotations

import base64
import hashlib
import random
import uuid
from typing import Any

import pytest

from acp_proxy.base.wording import byte_size
from acp_proxy.explain.describe.phrases import (
    beginning,
    decoded_size,
    is_base64,
    media,
    without_base64,
)
from tests.support.cases import each_case

DATA = base64.b64encode(random.Random(2).randbytes(300)).decode()


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (123_456, "123 kB"), (64_000_000, "64.0 MB")],
)
def test_sizes_have_units(count: int, shown: str) -> None:
    """`byte_size` formats a number of bytes with at most three digits and a unit, such as kB."""
    assert byte_size(count) == shown


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 100])
def test_the_size_is_that_of_the_decoded_data(count: int) -> None:
    """Where `log` hides base64, it prints the size of the decoded data."""
    text = base64.b64encode(bytes(count)).decode()
    assert decoded_size(text) == decoded_size(text.rstrip("=")) == byte_size(count)


@each_case(
    ("value", "shown"),
    [
        ({"mimeType": "image/png", "data": "AAAA"}, "[image/png, 3 B]"),
        ({"mediaType": "image/png", "data": "AAAA"}, "[image/png, 3 B]"),
        ({"mimeType": "application/pdf", "blob": "AAAA"}, "[application/pdf, 3 B]"),
        ({"type": "audio", "data": "AAAA"}, "[audio, 3 B]"),
        (
            {"type": "image", "mimeType": "image/png", "uri": "/a", "data": "AAAA"},
            "[/a, image/png, 3 B]",
        ),
        ({"data": "just words"}, ""),
        ({"type": "image", "data": 5}, ""),
        ({"mimeType": 5, "data": "AAAA"}, ""),
    ],
)
def test_media_is_data_beside_its_type(value: dict[str, Any], shown: str) -> None:
    """Instead of the binary data of an image, `log` prints its media type and size."""
    assert media(value) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"see {DATA} there", "see [base64] there"),
        (f"see {DATA.replace('+', '-').replace('/', '_')} there", "see [base64] there"),
        (f"![x](data:image/png;base64,{DATA})", "![x]([data: image/png])"),
        ("data:text/plain;charset=utf-8;base64,QQ==", "[data: text/plain]"),
        ("\n".join([DATA[:76], DATA[76:152], "QQ=="]), "[base64]"),
        ("\\n".join([DATA[:76], DATA[76:152], DATA[152:200]]), "[base64]"),
    ],
)
def test_base64_is_hidden(text: str, shown: str) -> None:
    """`log` hides base64 text in the previews of messages."""
    assert without_base64(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "x" * 500,
        hashlib.sha512(b"").hexdigest(),
        str(uuid.UUID(int=7)) * 5,
        "/Users/Some1/Projects/2026/the-name-of-it/src/components/deeply/nested/folders/of/it/all/there",
        "the_quick_brown_fox_jumps_over_the_lazy_dog_" * 5,
        "data: as it is; base64 or not",
        "",
    ],
)
def test_other_text_is_left_alone(text: str) -> None:
    """`log` does not hide paths, hashes and words that look like base64."""
    assert without_base64(text) == text
    assert not is_base64(text)


def test_a_cut_leaves_no_short_piece_of_base64() -> None:
    """If a preview of `log` is cut just after base64 begins, it ends before the base64."""
    words = "so it begins " * 10
    assert beginning(f"{words}{DATA}", len(words) + 60) == words
    assert beginning(f"{words}{DATA}", len(words) + 100) == f"{words}{DATA[:100]}"
    assert beginning(words, 1000) == words
    assert beginning("x" * 500, 400) == "x" * 400
