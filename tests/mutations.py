"""Recordings with one thing changed, in their text form, and what a diff should say of it."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import define

from acp_proxy.inspection.chunks import KINDS
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.transcript import write_transcript
from tests.conversations import reader_of

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDINGS = sorted((Path(__file__).parent.parent / "recordings").glob("*.db"))


@define
class Line:
    """A line of the text form.

    Attributes:
        place: its number among the lines.
        form: as JSON.
        seq: the frame's number.
        session: the lane's.
    """

    place: int
    form: dict[str, Any]
    seq: int
    session: str | None

    @property
    def message(self) -> dict[str, Any]:
        """What was said."""
        message = self.form["message"]
        assert isinstance(message, dict)
        return message

    @property
    def lane(self) -> tuple[str | None, str]:
        """Session and direction."""
        return self.session, self.form["stream"]

    @property
    def update(self) -> str | None:
        """The kind of a session update."""
        update = self.message.get("params", {}).get("update", {})
        kind = update.get("sessionUpdate")
        return kind if isinstance(kind, str) else None

    @property
    def is_piece(self) -> bool:
        """Whether it is a piece of a text."""
        return self.update in KINDS and "text" in self.message["params"]["update"]["content"]


@cache
def text_form(path: Path) -> tuple[bytes, ...]:
    """A recording's lines."""
    with RecordingReader(path) as reader:
        return tuple(write_transcript(reader))


@cache
def lines_of(path: Path) -> list[Line]:
    """The messages of a recording but for its handshake, and where they are."""
    with RecordingReader(path) as reader:
        frames = list(reader.frames())
    sessions = {row["seq"]: row["session"] for row in frames}
    skipped = {row["seq"] for row in frames if row["method"] in INITIALIZE}
    found, seq = [], 0
    for place, raw in enumerate(text_form(path)):
        form = json.loads(raw)
        if "stream" not in form and "event" not in form:
            continue
        seq += 1
        if isinstance(form.get("message"), dict) and seq not in skipped:
            found.append(Line(place, form, seq, sessions[seq]))
    return found


def changed(path: Path, lines: dict[int, dict[str, Any] | None]) -> RecordingReader:
    """Opens a recording in which some lines, by their places, are others; None is none."""
    written = [*text_form(path)]
    for place, form in lines.items():
        written[place] = b"" if form is None else json.dumps(form).encode() + b"\n"
    return reader_of([line for line in written if line])


def doubled(path: Path, line: Line) -> RecordingReader:
    """Opens a recording in which a line stands twice."""
    written = [*text_form(path)]
    written.insert(line.place + 1, written[line.place])
    return reader_of(written)


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value that holds no others, and the way to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, (*path, str(place)))
    else:
        yield path, value


def with_leaf(form: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """A copy of a line with one value of its message replaced."""
    form = copy.deepcopy(form)
    inner: Any = form["message"]
    for key in path[:-1]:
        inner = inner[int(key)] if isinstance(inner, list) else inner[key]
    last: Any = int(path[-1]) if isinstance(inner, list) else path[-1]
    inner[last] = value
    return form
