"""Prints what a search has found: for a terminal, a pipe, or as JSON."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from acp_proxy.cli.group import recordings
from acp_proxy.cli.render.output import (
    Ink,
    Writer,
    columns_of,
    encode_json,
    fit,
    pad,
    paint,
    use_color,
    width,
)
from acp_proxy.cli.render.table import fit_end
from acp_proxy.inspection.searching.streams import SearchHit
from acp_proxy.inspection.timeline import ARROWS
from acp_proxy.recording import Recording
from acp_proxy.safe_text import plain, visible
from acp_proxy.wording import seconds, when

_STREAMS = {"to-agent": Ink.TO_AGENT, "to-client": Ink.TO_CLIENT, "stderr": Ink.STDERR}
_BEFORE, _AFTER = 60, 140
"""Characters before and after a match where the output is no terminal."""


def printer_for(
    places: list[Path], words: tuple[str, ...], *, as_json: bool, count: bool, names: bool
) -> "MatchPrinter":
    """Chooses how to print.

    Args:
        places: the recordings that are searched.
        words: how they were named; none for the whole recordings directory.
        as_json: whether a program reads it.
        count: whether only numbers are asked for.
        names: whether only recordings are asked for.
    """
    if as_json:
        return _JsonPrinter()
    if names:
        return _NamePrinter()
    if count:
        alone = len(places) == 1 and len(words) == 1 and not Path(words[0]).is_dir()
        return _CountPrinter(alone=alone)
    columns = width()
    if columns is None:
        return _PlainPrinter()
    return _ScreenPrinter(columns)


class MatchPrinter:
    """Prints the hits of one recording after the other."""

    def __init__(self) -> None:
        self.writer = Writer()
        self.color = use_color()
        self.path, self.name = Path(), ""

    def print_all(self, path: Path, recording: Recording, hits: Iterable[SearchHit]) -> bool:
        """Prints what was found in a recording; returns whether it was something.

        Args:
            path: of the recording.
            recording: the recording.
            hits: its matches.
        """
        self.path, self.name = path, name_of(path)
        number = 0
        for number, hit in enumerate(hits, 1):
            if number == 1:
                self.begin(recording)
            self.hit(recording, hit)
        self.end(number)
        self.writer.flush()
        return number > 0

    def begin(self, recording: Recording) -> None:
        """Prints what comes before the first hit of a recording."""

    def hit(self, recording: Recording, hit: SearchHit) -> None:
        """Prints a hit.

        Args:
            recording: the recording.
            hit: the match.
        """

    def end(self, count: int) -> None:
        """Prints what can be said when a recording was searched."""

    def paint(self, text: str, ink: int | None = None, *, bold: bool = False) -> str:
        """Colours text, if colours are on.

        Args:
            text: what to colour.
            ink: its colour; None for the terminal's own.
            bold: whether it is bold.
        """
        return paint(text, ink, bold=bold) if self.color else text


class _JsonPrinter(MatchPrinter):
    def hit(self, recording: Recording, hit: SearchHit) -> None:
        self.writer.json(encode_json(hit_json(self.path, recording, hit)))


class _NamePrinter(MatchPrinter):
    def begin(self, recording: Recording) -> None:
        del recording
        self.writer.line(self.name)


class _CountPrinter(MatchPrinter):
    def __init__(self, *, alone: bool) -> None:
        super().__init__()
        self._alone = alone

    def end(self, count: int) -> None:
        self.writer.line(str(count) if self._alone else f"{self.name}:{count}")


class _PlainPrinter(MatchPrinter):
    def hit(self, recording: Recording, hit: SearchHit) -> None:
        del recording
        place = hit.place
        before, match, after = _around(hit, _BEFORE, _AFTER)
        match = self.paint(match, Ink.TROUBLE, bold=True)
        head = f"{self.name}:{place.seq}:{seconds(place.t_ns)}:{place.stream}:{_method(hit)}"
        self.writer.line(f"{head}:{before}{match}{after}")


class _ScreenPrinter(MatchPrinter):
    """A heading for each recording, and lines that fit a terminal."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        self._columns = columns
        self._method = 26 if columns >= 110 else 14
        self._is_first = True

    def begin(self, recording: Recording) -> None:
        if not self._is_first:
            self.writer.line("")
        self._is_first = False
        started = datetime.fromisoformat(recording.started_at)
        text = f"{self.name}  {when(started, datetime.now(started.tzinfo))}"
        fitted = fit(text, self._columns)
        name, rest = fitted[: len(self.name)], fitted[len(self.name) :]
        self.writer.line(f"{self.paint(name, bold=True)}{rest}")

    def hit(self, recording: Recording, hit: SearchHit) -> None:
        del recording
        place = hit.place
        head = f"{place.seq:>7} {seconds(place.t_ns):>9} "
        before, match, after = _fitted(hit, max(20, self._columns - len(head) - self._method - 3))
        arrow = self.paint(ARROWS.get(place.stream, "·"), _STREAMS.get(place.stream, Ink.FAINT))
        method = pad(fit(_method(hit), self._method), self._method)
        match = self.paint(match, Ink.TROUBLE, bold=True)
        line = f"{self.paint(head, Ink.FAINT)}{arrow} {method} {before}{match}{after}"
        self.writer.line(line.rstrip())


def _method(hit: SearchHit) -> str:
    """What to call a frame or an event: by its method, else by its kind."""
    place = hit.place
    return visible(place.method or (place.kind if place.kind != place.stream else ""))


def name_of(path: Path) -> str:
    """What to call a recording so that every command finds it again."""
    if path.absolute().parent == recordings() and path.suffix == ".db":
        return visible(path.stem)
    return visible(str(path))


def hit_json(path: Path, recording: Recording, hit: SearchHit) -> dict[str, Any]:
    """The documented JSON of a match.

    Args:
        path: of the recording.
        recording: the recording.
        hit: the match.
    """
    place = hit.place
    is_event = place.stream == "event"
    return {
        "path": str(path).encode(errors="replace").decode(),
        "recording": recording.id,
        "seq": place.seq,
        "last_seq": hit.last_seq,
        "t_ns": place.t_ns,
        "stream": None if is_event else place.stream,
        "kind": place.kind,
        "method": place.method,
        "session": place.session,
        "turn": place.turn,
        "pointer": hit.pointer,
        **hit.excerpt._asdict(),
    }


def _around(hit: SearchHit, before: int, after: int) -> tuple[str, str, str]:
    """A match and so many characters around it, as they can be printed on one line."""
    head, match, tail = map(plain, hit.excerpt)
    if len(head) > before:
        head = f"…{head[-before:]}"
    if len(tail) > after:
        tail = f"{tail[:after]}…"
    return head, match, tail


def _fitted(hit: SearchHit, columns: int) -> tuple[str, str, str]:
    """A match and what of its surroundings fits into so many columns; the match comes first."""
    head, match, tail = map(plain, hit.excerpt)
    match = fit(match, columns)
    left = columns - columns_of(match)
    before = min(columns_of(head), max(left // 3, left - columns_of(tail)))
    head = fit_end(head, before)
    return head, match, fit(tail, max(0, left - columns_of(head))) if left else ""
