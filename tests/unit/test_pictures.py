"""The pictures in the README show real output of acp-proxy."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.tools import page_pictures
from tests.tools.pictures import PICTURED, PICTURES, ROOT, color_of, picture, pieces, printed


@pytest.mark.parametrize("name", PICTURED)
def test_it_shows_what_is_printed(name: str) -> None:
    """Each picture in docs/pictures shows the real output of the command that it names."""
    drawn = (PICTURES / name).read_text(encoding="utf-8")
    assert drawn == picture(*PICTURED[name])
    shown = "".join(ElementTree.fromstring(drawn).itertext()).split("}\n  ")[-1]
    plain = re.sub(r"\x1b\[[0-9;]*m", "", printed(*PICTURED[name]))
    assert "".join(shown.split()).endswith("".join(plain.split()))


def test_each_is_shown() -> None:
    """The README shows each picture in docs/pictures; only the manual shows `web-list.png`."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    manual = (ROOT / "docs/commands/web.md").read_text(encoding="utf-8")
    names = {*PICTURED, *page_pictures.PICTURED, *page_pictures.OF_WINDOW}
    unseen = {name for name in names if f"(docs/pictures/{name})" not in readme}
    assert unseen == {"web-list.png"}
    assert "(../pictures/web-list.png)" in manual
    assert {path.name for path in PICTURES.iterdir()} == names


def test_colours_are_read() -> None:
    """The tool that draws the README's pictures reads colours from escape codes."""
    line = "a \x1b[1;38;5;196mb\x1b[0m c\x1b[38;5;244md\x1b[0m"
    assert [piece for piece in pieces(line) if piece[0]] == [
        ("a ", None, False),
        ("b", "#ff0000", True),
        (" c", None, False),
        ("d", "#808080", False),
    ]
    assert [color_of(number) for number in (32, 28, 130, 163)] == [
        "#0087d7", "#008700", "#af5f00", "#d700af",
    ]  # fmt: skip


def test_other_codes_are_refused() -> None:
    """The tool that draws the README's pictures refuses escape codes that it does not know."""
    with pytest.raises(ValueError, match="expected codes of ours, got '4'"):
        list(pieces("\x1b[4mx"))
