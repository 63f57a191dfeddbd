"""Finds the images of a recording that a page may show: PNG, JPEG, GIF and WebP.

The bytes of an image decide its type and size; the type that a peer names is not used. An image is
shown only if its headers are complete, its sides are at most `MOST_SIDE`, and it has few bytes.
Otherwise a browser could run out of memory.

Sounds, and images of other types, are described in words. SVG is described, too: it is a document.
"""

from collections.abc import Callable, Iterator
from struct import error, unpack_from
from typing import Any

from attrs import frozen

from acp_proxy.explain.choice import frames_numbered
from acp_proxy.explain.describe.phrases import from_base64
from acp_proxy.protocol.json_text import json_or_none
from acp_proxy.recording.filters import Filter
from acp_proxy.store.queries.frames import frames_with
from acp_proxy.store.reader import RecordingReader

MOST_SIDE = 4_096
"""The longest side of an image that is shown, in pixels."""
MOST_BYTES = 1_000_000
"""The largest size of an image that is shown, in bytes."""
MOST_OF_ALL = 10_000_000
"""The largest size of all images of a page together, in bytes."""
_SIGN = b'"image'
"""A text that each message with an image contains: the start of ``"image"`` or ``"image/png"``."""
_TYPES = ("type", "mimeType", "mediaType", "media_type")
_SIZED = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""The markers of those segments of a JPEG that contain the size of the image."""

Sizes = Iterator[tuple[int, int]]
"""Widths and heights in pixels, each pair from one place in the data of an image."""


@frozen
class PageImage:
    """An image that a page may show."""

    type: str
    """The media type, according to the bytes of the image."""
    width: int
    height: int
    data: bytes


def read_images(reader: RecordingReader, chosen: Filter) -> dict[str, PageImage]:
    """Returns the images in some frames; the key of an image is its data in base64.

    The images together have at most `MOST_OF_ALL` bytes.

    Args:
        reader: the recording.
        chosen: a filter of frames.
    """
    images, room = dict[str, PageImage](), MOST_OF_ALL
    for row in frames_numbered(reader, frames_with(reader, _SIGN), chosen):
        for encoded in _media(json_or_none(row["raw"])):
            image = None if encoded in images else read_image(encoded)
            if image is not None and len(image.data) <= room:
                images[encoded] = image
                room -= len(image.data)
    return images


def _media(message: Any) -> Iterator[str]:
    """Yields the data of each object with data and a type, at any depth of a message."""
    waiting = [message]
    while waiting:
        match waiting.pop():
            case dict() as value:
                data = value.get("data", value.get("blob"))
                if isinstance(data, str) and not value.keys().isdisjoint(_TYPES):
                    yield data
                waiting += reversed(value.values())
            case list() as values:
                waiting += reversed(values)


def read_image(encoded: str) -> PageImage | None:
    """Returns an image; None for data that a page does not show.

    Args:
        encoded: data of any kind, usually in base64.
    """
    if len(encoded) > MOST_BYTES * 4 // 3 + 4 or not (data := from_base64(encoded)):
        return None
    try:
        for sign, (kind, sizes_of) in _READERS.items():
            if data.startswith(sign):
                widths, heights = zip(*sizes_of(data), strict=True)
                is_fit = all(0 < side <= MOST_SIDE for side in (*widths, *heights))
                return PageImage(kind, max(widths), max(heights), data) if is_fit else None
    except (ValueError, IndexError, error):
        pass  # without a size, or cut off
    return None


def _png(data: bytes) -> Sizes:
    """Yields the size in the first chunk. The pictures of an animation cannot be larger."""
    length, name, width, height = unpack_from(">L4sLL", data, 8)
    if (length, name, data[-8:-4]) == (13, b"IHDR", b"IEND"):
        yield width, height


def _jpeg(data: bytes) -> Sizes:
    at = 2
    while True:
        mark, marker, length = unpack_from(">BBH", data, at)
        if mark != 0xFF or marker == 0xDA or length < 2:  # the picture itself, or no segment
            return
        if marker in _SIZED:
            height, width = unpack_from(">HH", data, at + 5)
            yield width, height
        at += 2 + length


def _gif(data: bytes) -> Sizes:
    """Yields the size of the GIF, and for each picture the right and the lower edge."""
    width, height, flags = unpack_from("<HHB", data, 6)
    yield width, height
    at = 13 + _colours(flags)
    while data[at] != 0x3B:
        if data[at] == 0x2C:
            left, top, width, height, flags = unpack_from("<HHHHB", data, at + 1)
            yield left + width, top + height
            at += 11 + _colours(flags)
        elif data[at] == 0x21:
            at += 2
        else:
            raise ValueError(f"expected the first byte of a GIF block, got {data[at]}")
        while length := data[at]:
            at += 1 + length
        at += 1


def _colours(flags: int) -> int:
    """Returns the size of a colour table in bytes; 0 if the flags announce no table."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _webp(data: bytes) -> Sizes:
    """Yields the size in the first chunk. Browsers refuse a file whose later sizes differ."""
    size, form, chunk = unpack_from("<L4s4s", data, 4)
    if form != b"WEBP" or size > len(data) - 8:
        return
    if chunk == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = unpack_from("<HH", data, 26)
        yield width & 0x3FFF, height & 0x3FFF
    elif chunk == b"VP8L" and data[20] == 0x2F:
        (bits,) = unpack_from("<L", data, 21)
        yield (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif chunk == b"VP8X":
        sides = data[24:27], data[27:30]
        width, height = (int.from_bytes(side, "little") + 1 for side in sides)
        yield width, height if len(data) > 30 else 0


_READERS: dict[bytes, tuple[str, Callable[[bytes], Sizes]]] = {
    b"\x89PNG\r\n\x1a\n": ("image/png", _png),
    b"\xff\xd8\xff": ("image/jpeg", _jpeg),
    b"GIF87a": ("image/gif", _gif),
    b"GIF89a": ("image/gif", _gif),
    b"RIFF": ("image/webp", _webp),
}
