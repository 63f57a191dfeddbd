"""Notes about single frames and events, as parts of the one note of a recording.

A recording has one text as its note. A line ``#42 text`` begins the note about frame or event 42.
This note ends before the next numbered line. Text before the first numbered line is about the
recording.
"""

import re

from acp_proxy.base.wording import counted

_AT_ROW = re.compile(r"#([1-9][0-9]{0,14})(?:\s+|$)")
WHOLE = 0
"""The key of the note about the whole recording. A note about a row has the row's number as key."""


def read_notes(text: str | None) -> dict[int, str]:
    """Returns the notes in a text, by row number; `WHOLE` has the note about the whole recording.

    A note may be empty.

    Args:
        text: the note of a recording; None for no note.
    """
    lines: dict[int, list[str]] = {}
    place = WHOLE
    for line in (text or "").split("\n"):
        if match := _AT_ROW.match(line):
            place, line = int(match[1]), line[match.end() :]
        lines.setdefault(place, []).append(line)
    return {place: "\n".join(some).strip() for place, some in lines.items()}


def changed_note(text: str | None, new: str | None) -> str | None:
    """Returns a recording's note in which new notes replace the old notes about the same rows.

    Args:
        text: the note of the recording; None for no note.
        new: the text with the new notes. An empty note removes the old note at its row; None
            removes all notes.
    """
    if new is None:
        return None
    notes = sorted({**read_notes(text), **read_notes(new)}.items())
    return "\n".join(f"#{at} {words}" if at else words for at, words in notes if words) or None


def note_in_words(text: str | None) -> str:
    """Returns the note about the whole recording, followed by the numbers of the rows with notes.

    The result is empty if there are no notes.

    Args:
        text: the note of the recording; None for no note.
    """
    notes = read_notes(text)
    whole, rows = notes.pop(WHOLE, ""), ", ".join(f"#{seq}" for seq in notes)
    return "; ".join(filter(None, (whole, rows and f"{counted(len(notes), 'note')} at {rows}")))
