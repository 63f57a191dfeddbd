"""Makes small images, with headers that may say anything."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode, b64encode
from typing import Any

JPEG = b64decode(
    "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP///////////////////////////////////////////////////////////"
    "///////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA="
)
WEBP = b64decode("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
"""Two images of one pixel that no code here can make."""
GIF_COLOURS = b"\0\0\0\xff\xff\xff"


def png(width: int, height: int, *, pixels: bytes | None = None, animated: bool = False) -> bytes:
    """Returns a grey PNG.

    Args:
        width: of the header.
        height: of the header.
        pixels: the compressed pixels; made for the size of the header without these.
        animated: whether it promises a million pictures.
    """
    if pixels is None:
        pixels = zlib.compress(b"".join(b"\0" + b"\x80" * width for _ in range(height)), 9)
    chunks = [(b"IHDR", struct.pack(">LLBBBBB", width, height, 8, 0, 0, 0, 0))]
    chunks += [(b"acTL", struct.pack(">LL", 1_000_000, 0))] * animated
    chunks += [(b"IDAT", pixels), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">L", len(data)) + name + data + struct.pack(">L", zlib.crc32(name + data))
        for name, data in chunks
    )


def gif(width: int, height: int, *pictures: tuple[int, int, int, int]) -> bytes:
    """Returns a GIF with pictures, each one with its left, top, width and height."""
    screen = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + GIF_COLOURS
    made = [
        b"\x21\xf9\x04\0\0\0\0\0\x2c" + struct.pack("<HHHHB", *place, 0) + b"\x02\x02\x44\x01\0"
        for place in pictures
    ]
    return screen + b"".join(made) + b"\x3b"


def jpeg(width: int, height: int) -> bytes:
    """Returns a JPEG whose header has another size."""
    at = JPEG.index(b"\xff\xc2")
    return JPEG[: at + 5] + struct.pack(">HH", height, width) + JPEG[at + 9 :]


def webp(chunk: bytes, data: bytes) -> bytes:
    """Returns a WebP with one chunk."""
    inner = b"WEBP" + chunk + struct.pack("<L", len(data)) + data
    return b"RIFF" + struct.pack("<L", len(inner)) + inner


def encoded(data: bytes) -> str:
    """Returns data in base64."""
    return b64encode(data).decode()


def image(data: bytes, mime: str = "image/png") -> dict[str, Any]:
    """Returns a content block with an image."""
    return {"type": "image", "mimeType": mime, "data": encoded(data)}
