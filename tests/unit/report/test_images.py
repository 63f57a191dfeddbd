"""`report` decides by the bytes of an image whether the page shows the image."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.recording.filters import EVERYTHING, parse
from acp_proxy.report import images
from acp_proxy.report.images import read_image, read_images
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
from tests.support.images import REFUSED, SHOWN, encoded, image, png
from tests.support.log_writer import LogWriter, notification, request, text

if TYPE_CHECKING:
    from pathlib import Path


@each_case("name", SHOWN)
def test_the_header_gives_type_and_size(name: str) -> None:
    """`report` reads the type and size of an image from the image's bytes."""
    data, kind, width, height = SHOWN[name]
    shown = read_image(encoded(data))
    assert shown is not None
    assert (shown.type, shown.width, shown.height, shown.data) == (kind, width, height, data)


@each_case("name", REFUSED)
def test_an_invalid_or_huge_image_is_not_shown(name: str) -> None:
    """`report` shows no image that is incomplete, invalid, huge or of an unsupported format."""
    assert read_image(encoded(REFUSED[name])) is None


@pytest.mark.parametrize("text", ["not base64", "ä" * 40, "AAA", "\ud800", "%PNG" * 9])
def test_text_is_no_image(text: str) -> None:
    """`report` does not mistake text that is not base64 for an image."""
    assert read_image(text) is None


@each_case("data", [value[0] for value in SHOWN.values()], ids=[*SHOWN])
def test_no_beginning_of_an_image_raises(data: bytes) -> None:
    """However an image is damaged, `report` reads it without an exception."""
    for end in range(min(len(data), 400)):
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
    """A report page shows the images of prompts and tool calls."""
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
        shown = read_images(reader, EVERYTHING)
        assert [it.data for it in shown.values()] == data
        assert {it.type for it in shown.values()} == {"image/png"}
        (only,) = read_images(reader, parse("seq:4"))
        assert only == encoded(data[1])


def test_images_of_a_page_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a recording's images are too large together, its report page leaves some of them out."""
    data = [png(n, n) for n in (40, 500, 41)]
    monkeypatch.setattr(images, "MOST_OF_ALL", len(data[0]) + len(data[2]))
    path = record(tmp_path / "x.db", *map(image, data))
    with RecordingReader(path) as reader:
        assert [it.width for it in read_images(reader, EVERYTHING).values()] == [40, 41]


def test_data_of_a_terminal_is_no_image(tmp_path: Path) -> None:
    """`report` does not show the output of a terminal as an image, even if the output is a PNG."""
    with LogWriter(tmp_path / "x.db") as recorder:
        chunk = {"sessionUpdate": "terminal_output_chunk", "terminalId": "image"}
        recorder.to_client(
            notification("session/update", update={**chunk, "data": encoded(png(1, 1))})
        )
        recorder.finish()
    with RecordingReader(recorder.path) as reader:
        assert read_images(reader, EVERYTHING) == {}
