"""`report.images`: the bytes of an image decide whether a page shows it."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import pytest

from acp_proxy.recording.filters import EVERYTHING, parse
from acp_proxy.report import images
from acp_proxy.report.images import MOST_BYTES, MOST_SIDE, read_image, read_images
from acp_proxy.store.reader import RecordingReader
from tests.support.images import JPEG, WEBP, encoded, gif, image, jpeg, png, webp
from tests.support.log_writer import LogWriter, notification, request, text

if TYPE_CHECKING:
    from pathlib import Path

LOSSY = b"\x10\0\0\x9d\x01\x2a"
"""The start of a lossy picture of a WebP."""
BOMB = zlib.compress(b"\0" * 50_000_000, 9)
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


@pytest.mark.parametrize("name", SHOWN)
def test_the_header_gives_type_and_size(name: str) -> None:
    """The type and the size of an image are those of its bytes."""
    data, kind, width, height = SHOWN[name]
    found = read_image(encoded(data))
    assert found is not None
    assert (found.type, found.width, found.height, found.data) == (kind, width, height, data)


@pytest.mark.parametrize("name", REFUSED)
def test_other_data_is_no_image(name: str) -> None:
    """Other data, headers that promise too much and images that are cut off are not shown."""
    assert read_image(encoded(REFUSED[name])) is None


@pytest.mark.parametrize("text", ["not base64", "ä" * 40, "AAA", "\ud800", "%PNG" * 9])
def test_text_is_no_image(text: str) -> None:
    """Text that is not base64 is not an image."""
    assert read_image(text) is None


@pytest.mark.parametrize("data", [value[0] for value in SHOWN.values()], ids=[*SHOWN])
def test_no_beginning_of_an_image_raises(data: bytes) -> None:
    """An image may be cut off anywhere, and any of its bytes may be another one."""
    for end in range(0, min(len(data), 400)):
        read_image(encoded(data[:end]))
        read_image(encoded(data[:end] + b"\xff" + data[end + 1 :]))


def record(path: Path, *blocks: object) -> Path:
    """Records a prompt with each block."""
    with LogWriter(path) as recorder:
        for number, block in enumerate(blocks):
            recorder.to_agent(request(number, "session/prompt", sessionId="s", prompt=[block]))
        recorder.finish()
    return path


def test_images_are_found_wherever_they_are(tmp_path: Path) -> None:
    """Images are found by their data in prompts, calls, resources and outputs, each one once."""
    data = [png(n, 1) for n in range(1, 6)]
    source = {"type": "image", "source": {"type": "base64", "data": encoded(data[3])}}
    resource = {"uri": "file:///a.png", "mimeType": "image/png", "blob": encoded(data[2])}
    path = record(
        tmp_path / "x.db",
        image(data[0], "text/html"),
        image(data[0]),
        {"type": "content", "content": image(data[1])},
        {"type": "resource", "resource": resource},
        source,
        text("image/png"),
        {"type": "image", "data": 5},
        [[[{"deep": image(data[4])}]]],
    )
    with RecordingReader(path) as reader:
        found = read_images(reader, EVERYTHING)
        assert [it.data for it in found.values()] == data
        assert {it.type for it in found.values()} == {"image/png"}
        (only,) = read_images(reader, parse("seq:4"))
        assert only == encoded(data[1])


def test_images_of_a_page_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Images that do not fit into a page any more are left out, and smaller ones after them fit."""
    data = [png(n, n) for n in (40, 500, 41)]
    monkeypatch.setattr(images, "MOST_OF_ALL", len(data[0]) + len(data[2]))
    path = record(tmp_path / "x.db", *map(image, data))
    with RecordingReader(path) as reader:
        assert [it.width for it in read_images(reader, EVERYTHING).values()] == [40, 41]


def test_data_of_a_terminal_is_no_image(tmp_path: Path) -> None:
    """Output of a terminal has no type and is not an image, though its bytes are one."""
    with LogWriter(tmp_path / "x.db") as recorder:
        chunk = {"sessionUpdate": "terminal_output_chunk", "terminalId": "image"}
        recorder.to_client(
            notification("session/update", update={**chunk, "data": encoded(png(1, 1))})
        )
        recorder.finish()
    with RecordingReader(recorder.path) as reader:
        assert read_images(reader, EVERYTHING) == {}
