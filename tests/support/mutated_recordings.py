"""Changes one thing in a recording's text form, for tests of `diff` and of playback."""

from __future__ import annotations

import atexit
import copy
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from attrs import define

from acp_proxy.diff.diff import diff
from acp_proxy.diff.diff_result import DiffOptions
from acp_proxy.protocol.dialects import INITIALIZE
from acp_proxy.protocol.updates import CHUNKS
from acp_proxy.store.copies.text_export import write_text_form
from acp_proxy.store.reader import RecordingReader
from tests.support.drawn_conversations import reader_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from acp_proxy.diff.diff_result import Diff, DiffEntry

    Choice = Callable[[list[tuple[Path, "Line"]]], list[tuple[Path, "Line"]]]


@define
class Line:
    """A line with a message in the text form of a recording.

    Attributes:
        place: the index of the line in the text form.
        form: the line as JSON values.
        seq: the frame's number.
        session: the session of the frame.
    """

    place: int
    form: dict[str, Any]
    seq: int
    session: str | None

    @property
    def message(self) -> dict[str, Any]:
        """Returns the message on the line."""
        message = self.form["message"]
        assert isinstance(message, dict)
        return message

    @property
    def lane(self) -> tuple[str | None, str]:
        """Returns the session and the direction of the message."""
        return self.session, self.form["stream"]

    @property
    def kind(self) -> str:
        """Returns the message's kind: ``request``, ``answer`` or ``notification``."""
        if "id" not in self.message:
            return "notification"
        return "request" if "method" in self.message else "answer"

    @property
    def update(self) -> str | None:
        """Returns the kind of a session update; None for other messages."""
        update = self.message.get("params", {}).get("update", {})
        kind = update.get("sessionUpdate")
        return kind if isinstance(kind, str) else None

    @property
    def members(self) -> tuple[str, ...]:
        """Returns the method of a message, or the names of the members of a response."""
        if "method" in self.message:
            return (self.message["method"],)
        return (*self.message, *(self.message.get("result") or ()))

    @property
    def call(self) -> str | None:
        """Returns the id of the tool call that the message is about, or None."""
        params = self.message.get("params", {})
        call = params.get("update", params.get("toolCall", {})).get("toolCallId")
        return call if isinstance(call, str) else None

    @property
    def is_piece(self) -> bool:
        """Whether the message is a chunk of a text."""
        return self.update in CHUNKS and "text" in self.message["params"]["update"]["content"]


def first_of_each(every: list[tuple[Path, Line]]) -> list[tuple[Path, Line]]:
    """Returns each agent's first message of each kind, and its last message."""
    kept: dict[Any, tuple[Path, Line]] = {}
    for path, line in every:
        agent = path.stem.rpartition("-")[0]
        of_kind = agent, line.lane[1], line.update, line.members
        kept.setdefault(of_kind, (path, line))
        kept[agent] = path, line
    return list({(path, line.seq): (path, line) for path, line in kept.values()}.values())


WITH_SOME_OR_ALL = pytest.mark.parametrize(
    "chosen",
    [pytest.param(first_of_each, id="some"), pytest.param(list, id="all", marks=pytest.mark.soak)],
)
"""Selects the messages to change; each change is made in a separate recording."""


@cache
def text_form(path: Path) -> tuple[bytes, ...]:
    """Returns the text form of a recording, line by line."""
    with RecordingReader(path) as reader:
        return tuple(write_text_form(reader))


def lines_of(path: Path) -> list[Line]:
    """Returns the lines with messages of a recording, without those of the handshake."""
    return _lines(path)[1]


def handshake_of(path: Path) -> list[Line]:
    """Returns the lines of ``initialize`` and of its answer."""
    return _lines(path)[0]


@cache
def _lines(path: Path) -> tuple[list[Line], list[Line]]:
    with RecordingReader(path) as reader:
        rows = {row["seq"]: row for row in reader.frames()}
    results: tuple[list[Line], list[Line]] = [], []
    seq = 0
    for place, raw in enumerate(text_form(path)):
        form = json.loads(raw)
        if "stream" not in form and "event" not in form:
            continue
        seq += 1
        if isinstance(form.get("message"), dict):
            is_handshake = rows[seq]["method"] in INITIALIZE
            results[not is_handshake].append(Line(place, form, seq, rows[seq]["session"]))
    return results


def are_open_at_once(path: Path, line: Line, other: Line) -> bool:
    """Whether two lines are about different tool calls that run at the same time."""
    if line.call is None or other.call is None or line.call == other.call:
        return False
    (a_start, a_end), (b_start, b_end) = (_span(path, call) for call in (line.call, other.call))
    return a_start < b_end and b_start < a_end


def _span(path: Path, call: str) -> tuple[int, int]:
    told = [line.seq for line in lines_of(path) if call in str(line.message)]
    return told[0], told[-1]


def compare(path: Path, b: RecordingReader, **options: Any) -> tuple[Diff, list[DiffEntry]]:
    """Returns the result of `diff` for a recording and an open one, and the differences."""
    with b:
        comparison = diff(opened(path), b, DiffOptions(**options))
        return comparison, [*comparison.entries()]


@cache
def opened(path: Path) -> RecordingReader:
    """Opens a recording once for all tests of the process."""
    reader = RecordingReader(path)
    atexit.register(reader.close)
    return reader


def changed(path: Path, lines: dict[int, dict[str, Any] | None]) -> RecordingReader:
    """Opens a recording in which some lines are replaced; None removes a line."""
    written = [*text_form(path)]
    for place, form in lines.items():
        written[place] = b"" if form is None else json.dumps(form).encode() + b"\n"
    return reader_of([line for line in written if line])


def doubled(path: Path, line: Line) -> RecordingReader:
    """Opens a recording in which one line is repeated."""
    written = [*text_form(path)]
    written.insert(line.place + 1, written[line.place])
    return reader_of(written)


def ended(
    path: Path, code: int | None, signal: int | None = None, state: str = "complete"
) -> RecordingReader:
    """Opens a recording in which the agent ended in another way, or in an unknown way."""
    header = json.loads(text_form(path)[0])
    header["recording"] |= {"exit_code": code, "exit_signal": signal, "state": state}
    return reader_of([json.dumps(header).encode() + b"\n", *text_form(path)[1:]])


def changed_value(old: Any) -> Any:
    """Returns a different text for a text, and a different number for other values."""
    if isinstance(old, str):
        return f"{old} changed"
    return 4711 if old != 4711 else 4712


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields each value that is neither an object nor a list, with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, (*path, str(place)))
    else:
        yield path, value


def with_leaf(form: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Returns a copy of a line in which one value of the message is replaced."""
    form = copy.deepcopy(form)
    inner: Any = form["message"]
    for key in path[:-1]:
        inner = inner[int(key)] if isinstance(inner, list) else inner[key]
    last: Any = int(path[-1]) if isinstance(inner, list) else path[-1]
    inner[last] = value
    return form
