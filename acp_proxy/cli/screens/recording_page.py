"""Prints a page about one recording: a headline, rows with labels, and marked findings."""

from collections.abc import Sequence
from datetime import datetime

from acp_proxy.base.limits import EXAMPLES
from acp_proxy.base.wording import counted, when
from acp_proxy.cli.screens.output import Page
from acp_proxy.cli.screens.styled_text import Ink, Piece, piece, text_of
from acp_proxy.cli.screens.table import aligned
from acp_proxy.explain.findings import SEVERITIES, Severity
from acp_proxy.explain.origins import origin_rows
from acp_proxy.recording.recording import Recording, needs

LABEL = 12
"""The width of a label, in columns of the terminal."""
SHORT_ID = 12
"""The number of characters of a session's id that are shown where space is short."""

MARKS = {
    Severity.ERROR: ("✗", Ink.TROUBLE),
    Severity.WARNING: ("!", Ink.STDERR),
    Severity.INFO: ("-", Ink.FAINT),
}
"""The mark of each severity, and its colour."""


def verdict(counts: dict[str, int], if_none: str) -> list[Piece]:
    """Returns the number of findings of each severity in words, the worst severity first.

    Args:
        counts: the number of findings by severity.
        if_none: the words if there are no findings.
    """
    pieces: list[Piece] = []
    for severity in SEVERITIES:
        if counts.get(severity.value):
            mark, ink = MARKS[severity]
            lead = f"{mark} " if severity is Severity.ERROR else ""
            noun = "note" if severity is Severity.INFO else severity.value
            text = f"{', ' if pieces else ''}{lead}{counted(counts[severity], noun)}"
            pieces.append(piece(text, ink, bold=severity is Severity.ERROR))
    return pieces or [piece(if_none, Ink.TO_CLIENT)]


class RecordingPage(Page):
    """A page about one recording."""

    def headline(self, recording: Recording, *verdict: Piece, live: bool) -> None:
        """Prints the recording's name, the verdict, and the state of an incomplete recording.

        Args:
            recording: the recording.
            *verdict: the verdict in words, such as the number of findings.
            live: whether the recording is still running.
        """
        is_whole = recording.state == "complete" and not live
        state = "" if is_whole else "running  " if live else f"{recording.shown_state}  "
        name, rest = piece(recording.name, bold=True), piece(f"  ({recording.id})  {state}")
        self.wrap(piece(""), name, rest, *verdict, indent=2)

    def row(self, label: str, *pieces: str | Piece) -> None:
        """Prints a label and its text. Prints nothing for an empty text.

        Args:
            label: a word or two; empty if the text continues the row above.
            *pieces: the text.
        """
        made = [part if isinstance(part, tuple) else piece(part) for part in pieces]
        if text_of(made):
            self.wrap(piece(label.ljust(LABEL)), *made)

    def origin(self, recording: Recording) -> None:
        """Prints the origin of an imported recording, and the facts that its source lacks.

        Prints nothing for a recording that acp-proxy made.
        """
        for label, text in origin_rows(recording):
            self.row(label, text)

    def finding(self, severity: Severity, text: str, about: str = "") -> None:
        """Prints a finding with the mark of its severity.

        Args:
            severity: the severity of the finding.
            text: the finding in one sentence.
            about: less important details, such as the rule, which are printed in grey.
        """
        mark, ink = MARKS[severity]
        self.wrap(piece(f"  {mark} ", ink, bold=True), piece(text), piece(about, Ink.FAINT))

    def examples(self, rows: Sequence[list[Piece]], count: int, *, is_cut: bool = True) -> None:
        """Prints rows as a table. A last line has the number of further rows.

        Args:
            rows: the first rows, at most `EXAMPLES`.
            count: the number of all rows.
            is_cut: whether rows are cut to the width of the screen, instead of wrapped.
        """
        self.lines(aligned(rows, self.screen, is_cut=is_cut))
        self.more(count - EXAMPLES)

    def more(self, count: int) -> None:
        """Prints how many items are left out. Prints nothing for 0 items."""
        if count > 0:
            self.print(piece(f"  ... and {count:,} more", Ink.FAINT))


@needs("date", unknown="")
def started_at(recording: Recording) -> str:
    """Returns the date and the time of day when a recording began; empty if unknown."""
    return f"{recording.clock():%Y-%m-%d %H:%M:%S %z}".rstrip()


def begun(recording: Recording, now: datetime | None) -> str:
    """Returns when a recording began. If this is unknown, returns when it was imported.

    Args:
        recording: the recording.
        now: the present time, if the result is to say how long ago the recording began; None if the
            result is to be the date and the time of day.
    """
    at = f"{recording.clock():%Y-%m-%d %H:%M:%S}"
    if now is not None:  # the date may differ in another time zone
        began = datetime.fromisoformat(recording.started_at)
        at = when(began, now) if recording.has_zone else at.partition(" ")[0]
    return at if recording.known_start else f"imported {at}"


def shortened(text: str, most: int | None = SHORT_ID) -> str:
    """Cuts a text, such as the id of a session, to a number of characters.

    Args:
        text: the text.
        most: the number of characters; None for no limit.
    """
    return text if most is None or len(text) <= most else f"{text[: most - 1]}…"
