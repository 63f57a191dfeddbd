"""Makes small images, whose headers may contain wrong sizes."""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode, b64encode
from typing import Any

from acp_proxy.report.images import MOST_BYTES, MOST_SIDE

JPEG = b64decode(
    "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP///////////////////////////////////////////////////////////"
    "///////////////////////////wgALCAABAAEBAREA/8QAFBABAAAAAAAAAAAAAAAAAAAAAP/aAAgBAQABPxA="
)
WEBP = b64decode("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
"""Two WebP images of one pixel, which no code in this module can make."""
GIF_COLOURS = b"\0\0\0\xff\xff\xff"


def png(width: int, height: int, *, pixels: bytes | None = None, animated: bool = False) -> bytes:
    """Returns a grey PNG image.

    Args:
        width: the width in the header.
        height: the height in the header.
        pixels: the compressed pixels; by default, pixels of the size in the header.
        animated: whether the header says that a million pictures follow.
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
    """Returns a GIF with some pictures; each one is given by its left, top, width and height."""
    screen = b"GIF89a" + struct.pack("<HHBBB", width, height, 0x80, 0, 0) + GIF_COLOURS
    made = [
        b"\x21\xf9\x04\0\0\0\0\0\x2c" + struct.pack("<HHHHB", *place, 0) + b"\x02\x02\x44\x01\0"
        for place in pictures
    ]
    return screen + b"".join(made) + b"\x3b"


def jpeg(width: int, height: int) -> bytes:
    """Returns a small JPEG with any size in its header."""
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


LOSSY = b"\x10\0\0\x9d\x01\x2a"
"""The first bytes of a lossy WebP image."""
BOMB = zlib.compress(b"\0" * 5_000_000, 9)
SHOWN = {
    "a PNG": (png(3, 2), "image/png", 3, 2),
    "a PNG of the largest size": (png(MOST_SIDE, 1), "image/png", MOST_SIDE, 1),
    "an animated PNG": (png(3, 2, animated=True), "image/png", 3, 2),
    "a GIF": (gif(3, 2, (0, 0, 3, 2)), "image/gif", 3, 2),
    "a GIF whose picture is beyond the screen": (gif(3, 2, (4, 4, 5, 6)), "image/gif", 9, 10),
    "a GIF of 1987": (b"GIF87a" + gif(3, 2, (0, 0, 3, 2))[6:], "image/gif", 3, 2),
    "a JPEG": (JPEG, "image/jpeg", 1, 1),
    "a JPEG of another size": (jpeg(640, 480), "image/jpeg", 640, 480),
    "a WebP without loss": (WEBP, "image/webp", 1, 1),
    "a WebP with loss": (webp(b"VP8 ", LOSSY + struct.pack("<HH", 0x4000 | 9, 7) + b"..."),
                         "image/webp", 9, 7),
    "a WebP with more": (webp(b"VP8X", b"\x02\0\0\0" + b"\x09\0\0" + b"\x04\0\0" + b"..."),
                         "image/webp", 10, 5),
}  # fmt: skip
"""Images that a report page shows, each with its type and size."""
REFUSED = {
    "nothing": b"",
    "text": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    "a script behind a sign": b"GIF89a=1;alert(1)//",
    "a sound": b"RIFF\x24\0\0\0WAVEfmt ",
    "a bitmap": b"BM" + b"\0" * 60,
    "a sign of a PNG": png(1, 1)[:8],
    "a PNG without its end": png(9, 9)[:-6],
    "a wide PNG": png(MOST_SIDE + 1, 1),
    "a high PNG": png(1, MOST_SIDE + 1),
    "a PNG of four thousand million": png(0xFFFFFFFF, 0xFFFFFFFF, pixels=b""),
    "a PNG without a side": png(0, 5, pixels=b""),
    "a PNG with a bomb": png(60_000, 60_000, pixels=BOMB),
    "a PNG that begins with another chunk": png(1, 1).replace(b"IHDR", b"iCCP"),
    "a GIF of the largest numbers": gif(65_535, 65_535, (0, 0, 1, 1)),
    "a GIF with a huge picture": gif(1, 1, (0, 0, 1, 1), (0, 0, 65_535, 65_535)),
    "a GIF with a picture far away": gif(1, 1, (65_000, 0, 1, 1)),
    "a GIF that is cut off": gif(3, 2, (0, 0, 3, 2))[:-8],
    "a GIF without its end": gif(3, 2, (0, 0, 3, 2))[:-1],
    "a GIF with a block of no kind": gif(3, 2)[:-1] + b"\x77\0\x3b",
    "a wide JPEG": jpeg(65_535, 1),
    "a JPEG with two sizes": jpeg(1, 1)[:2] + b"\xff\xc0\0\x0b\x08\xff\xff\xff\xff\x01" + JPEG[2:],
    "a JPEG without a size": JPEG[: JPEG.index(b"\xff\xc2")] + b"\xff\xda\0\x02",
    "a JPEG with an empty segment": b"\xff\xd8\xff\xe0\0\0" * 9,
    "a JPEG that is cut off": JPEG[:40],
    "a wide WebP": webp(b"VP8L", b"\x2f" + struct.pack("<L", 0x3FFF) + b"..."),
    "a WebP of the largest numbers": webp(b"VP8X", b"\0" * 4 + b"\xff" * 6 + b"..."),
    "a WebP without a picture": webp(b"VP8X", b"\0" * 10),
    "a WebP that is cut off": WEBP[:-4],
    "a WebP of no kind": webp(b"ABCD", b"\0" * 30),
    "a large PNG": png(9, 9, pixels=b"\0" * MOST_BYTES),
}
"""Data that a report page does not show as an image."""
