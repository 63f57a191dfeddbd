"""Prints the matches of a search: for a terminal, a pipe, or as JSON."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from acp_proxy.base.wording import plain, seconds, visible
from acp_proxy.cli.group import recordings
from acp_proxy.cli.screens.output import Page, stdout_screen
from acp_proxy.cli.screens.recording_page import begun
from acp_proxy.cli.screens.styled_text import STREAM_INKS, Ink, columns_of, fit, fit_end, pad, piece
from acp_proxy.explain.describe.tool_texts import call_label, short_id
from acp_proxy.explain.hints import CallSpans
from acp_proxy.explain.log.timeline import ARROWS
from acp_proxy.explain.search.stream_matches import SearchHit
from acp_proxy.protocol.json_text import encode_json
from acp_proxy.recording.recording import Recording
from acp_proxy.store.reader import RecordingReader

_LABELS = ("kind", "method", "session", "turn", "tool_call")
"""The labels of a frame that are printed with a match in JSON."""
_BEFORE, _AFTER = 60, 140
"""The largest number of characters before and after a match that are printed into a pipe."""


def printer_for(
    places: list[Path], words: tuple[str, ...], *, as_json: bool, count: bool, names: bool
) -> "MatchPrinter":
    """Returns the printer for a kind of output.

    Args:
        places: the recordings that are searched.
        words: the arguments that name the recordings; empty for the whole recordings directory.
        as_json: whether to print JSON.
        count: whether to print only the number of matches of each recording.
        names: whether to print only the names of recordings with a match.
    """
    if as_json:
        return _JsonPrinter()
    if names:
        return _CountPrinter(lambda name, hits: name if hits else None)
    if count:
        alone = len(places) == 1 and len(words) == 1 and not Path(words[0]).is_dir()
        return _CountPrinter(lambda name, hits: str(hits) if alone else f"{name}:{hits}")
    columns = stdout_screen().columns
    return _LinePrinter() if columns is None else _ScreenPrinter(columns)


class MatchPrinter:
    """Prints the matches in recordings, one recording after the other."""

    def __init__(self) -> None:
        self._page = Page(stdout_screen())
        self._path, self._name = Path(), ""

    def print_all(self, path: Path, reader: RecordingReader, hits: Iterable[SearchHit]) -> int:
        """Prints the matches in one recording; returns their number.

        Args:
            path: the path of the recording.
            reader: the recording.
            hits: the matches in the recording.
        """
        recording, self._title_of = reader.recording, CallSpans(reader).title
        self._path, self._name = path, _name_of(path)
        number = 0
        for number, hit in enumerate(hits, 1):
            if number == 1:
                self._begin(recording)
            self._hit(recording, hit)
        self._end(number)
        self._page.flush()
        return number

    def _marked(self, match: str) -> str:
        return self._page.screen.paint((match, Ink.TROUBLE, True))

    def _begin(self, recording: Recording) -> None:
        """Prints the heading of a recording; called before its first match is printed."""

    def _hit(self, recording: Recording, hit: SearchHit) -> None:
        """Prints a match."""

    def _end(self, count: int) -> None:
        """Prints the number of matches in a recording, if the user wants numbers."""


class _JsonPrinter(MatchPrinter):
    def _hit(self, recording: Recording, hit: SearchHit) -> None:
        self._page.json(encode_json(_json_of(self._path, recording, hit)))


class _CountPrinter(MatchPrinter):
    """Prints a line for each recording: its name, or its number of matches, or both."""

    def __init__(self, line_of: Callable[[str, int], str | None]) -> None:
        super().__init__()
        self._line_of = line_of

    def _end(self, count: int) -> None:
        if (line := self._line_of(self._name, count)) is not None:
            self._page.line(line)


class _LinePrinter(MatchPrinter):
    def _hit(self, recording: Recording, hit: SearchHit) -> None:
        place, at = hit.place, seconds(recording.known_ns(hit.place.t_ns))
        head = f"{self._name}:{place.seq}:{at}:{place.stream}:{_method(hit)}:"
        before, match, after = map(plain, hit.excerpt)
        before = before if len(before) <= _BEFORE else f"…{before[-_BEFORE:]}"
        after = after if len(after) <= _AFTER else f"{after[:_AFTER]}…"
        self._page.line(f"{head}{before}{self._marked(match)}{after}")


class _ScreenPrinter(MatchPrinter):
    """Prints a heading for each recording, and lines that fit a terminal."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self._columns = columns
        self._method = 26 if columns >= 110 else 18
        self._is_first = True

    def _begin(self, recording: Recording) -> None:
        if not self._is_first:
            self._page.print()
        self._is_first = False
        ago = piece(f"  {begun(recording, datetime.now(UTC))}")
        self._page.print(piece(self._name, bold=True), ago)

    def _hit(self, recording: Recording, hit: SearchHit) -> None:
        place = hit.place
        head = f"{place.seq:>7} {seconds(recording.known_ns(place.t_ns)):>9} "
        room = max(20, self._columns - len(head) - self._method - 3)
        before, match, after = _fitted(hit, room)
        arrow, ink = ARROWS.get(place.stream, "·"), STREAM_INKS.get(place.stream, Ink.FAINT)
        method = pad(self._name_of_frame(hit), self._method)
        paint = self._page.screen.paint
        line = f"{paint((head, Ink.FAINT, False))}{paint((arrow, ink, False))} {method} {before}"
        self._page.line(f"{line}{self._marked(match)}{after}".rstrip())

    def _name_of_frame(self, hit: SearchHit) -> str:
        """Returns the label of a match's frame: its tool call or its method.

        The label is the method if there is no tool call, if the match contains a quote or is a part
        of the method, or if the match with the text around it is the title of the tool call.
        """
        place, match = hit.place, hit.excerpt.match
        if place.tool_call is None or '"' in match or match in (place.method or ""):
            return fit(_method(hit), self._method)
        title = self._title_of(place.session, place.tool_call, place.seq)
        if title == "".join(hit.excerpt):
            return fit(_method(hit), self._method)
        label = visible(call_label(title, place.tool_call))
        call = f" ({visible(short_id(place.tool_call))})"
        if not label.endswith(call):
            return fit(label, self._method)
        return fit(label.removesuffix(call), self._method - columns_of(call)) + call


def _method(hit: SearchHit) -> str:
    """Returns the method of a match's frame, or the kind of a frame or event without a method."""
    place = hit.place
    return visible(place.method or (place.kind if place.kind != place.stream else ""))


def _name_of(path: Path) -> str:
    """Returns the name of a database in the recordings directory; for any other file, its path."""
    if path.absolute().parent == recordings() and path.suffix == ".db":
        return visible(path.stem)
    return visible(str(path))


def _json_of(path: Path, recording: Recording, hit: SearchHit) -> dict[str, Any]:
    place = hit.place
    return {
        "path": str(path).encode(errors="replace").decode(),
        "recording": recording.id,
        "seq": place.seq,
        "last_seq": hit.last_seq,
        "t_ns": recording.known_ns(place.t_ns),
        "stream": None if place.stream == "event" else place.stream,
        **{name: getattr(place, name) for name in _LABELS},
        "pointer": hit.pointer,
        **hit.excerpt._asdict(),
    }


def _fitted(hit: SearchHit, columns: int) -> tuple[str, str, str]:
    """Returns the text before a match, the match, and the text after it, cut to a width."""
    head, match, tail = map(plain, hit.excerpt)
    match = fit(match, columns)
    left = columns - columns_of(match)
    before = min(columns_of(head), max(left // 3, left - columns_of(tail)))
    head = fit_end(head, before)
    return head, match, fit(tail, max(0, left - columns_of(head))) if left else ""
