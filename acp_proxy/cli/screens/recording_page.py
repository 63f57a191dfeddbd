"""The page of a screen about one recording: a headline, rows with labels, and marked findings."""

from datetime import datetime

from acp_proxy.base.wording import counted, when
from acp_proxy.cli.screens.output import Page
from acp_proxy.cli.screens.styled_text import Ink, Piece, piece, text_of
from acp_proxy.explain.findings import SEVERITIES, Severity
from acp_proxy.explain.origins import origin_rows
from acp_proxy.recording.recording import Recording, needs

LABEL = 12
"""Columns of a label."""
SHORT_ID = 12
"""Characters of the id of a session where there is little room."""


MARKS = {
    Severity.ERROR: ("✗", Ink.TROUBLE),
    Severity.WARNING: ("!", Ink.STDERR),
    Severity.INFO: ("-", Ink.FAINT),
}
"""The mark of each severity, and its colour."""


def verdict(counts: dict[str, int], if_none: str) -> list[Piece]:
    """Returns how many findings there are of each severity, the worst first.

    Args:
        counts: by severity.
        if_none: what is returned if there are none.
    """
    pieces: list[Piece] = []
    for severity in SEVERITIES:
        if counts.get(severity.value):
            mark, ink = MARKS[severity]
            lead = f"{mark} " if severity is Severity.ERROR else ""
            text = f"{', ' if pieces else ''}{lead}{counted(counts[severity], severity)}"
            pieces.append(piece(text, ink, bold=severity is Severity.ERROR))
    return pieces or [piece(if_none, Ink.TO_CLIENT)]


class RecordingPage(Page):
    """A page about one recording."""

    def headline(self, recording: Recording, *verdict: Piece, live: bool) -> None:
        """Prints the name of the recording, its state, and what was found.

        Args:
            recording: the recording.
            *verdict: what was found, in words.
            live: whether it is still running.
        """
        state = "running" if live else recording.shown_state
        name, rest = piece(recording.name, bold=True), piece(f"  ({recording.id})  {state}  ")
        self.wrap(piece(""), name, rest, *verdict)

    def row(self, label: str, *pieces: str | Piece) -> None:
        """Prints a label and what belongs to it; nothing if that is empty.

        Args:
            label: a word or two; empty to continue the row above.
            *pieces: the text.
        """
        made = [part if isinstance(part, tuple) else piece(part) for part in pieces]
        if text_of(made):
            self.wrap(piece(label.ljust(LABEL)), *made)

    def origin(self, recording: Recording) -> None:
        """Prints what an imported recording was made from, and what of it is not known."""
        for label, text in origin_rows(recording):
            self.row(label, text)

    def finding(self, severity: Severity, text: str, about: str = "") -> None:
        """Prints a finding with the mark of its severity.

        Args:
            severity: of the finding.
            text: one sentence.
            about: what is less important.
        """
        mark, ink = MARKS[severity]
        self.wrap(piece(f"  {mark} ", ink, bold=True), piece(text), piece(about, Ink.FAINT))


@needs("date", unknown="")
def started_at(recording: Recording) -> str:
    """Returns the time of day at which a recording began; empty if that is not known."""
    return f"{recording.clock():%Y-%m-%d %H:%M:%S %z}".rstrip()


def begun(recording: Recording, now: datetime | None) -> str:
    """Returns when a recording began, or was imported if that is all that is known.

    Args:
        recording: the recording.
        now: counts back from then; None for the date and time of day.
    """
    at = f"{recording.clock():%Y-%m-%d %H:%M:%S}"
    if now is not None:  # in another zone it may be another day
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
