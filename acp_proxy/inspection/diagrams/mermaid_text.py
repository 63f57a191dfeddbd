"""Writes texts so that Mermaid takes them for nothing but text, and the statements of a diagram.

Mermaid's grammar gives a meaning to ``#``, ``;``, ``%%`` and more in the middle of a text, what
draws the diagram to ``<br>`` and ``$$``, and what it is pasted into to backticks. So a character is
written as it is only if it is known to be harmless. Any other one is an entity with its number,
which Mermaid shows as the character.
"""

import re
from enum import StrEnum

from acp_proxy.safe_text import plain

LONGEST = 72
"""Characters of a text that are shown; a diagram is as wide as its longest text needs."""
_LONGEST_WRITTEN = 160
"""The same with entities, in UTF-16 code units, as Mermaid limits the text of a diagram."""
_HARMLESS = frozenset(" .,:/_-=*?!'\"()[]…–→←✓✗×·↩")
_LIGATURE = "\ufb02"
"""A letter with which Mermaid itself marks entities."""
_WORDS = re.compile("^(?:no)?wrap|style|classDef", re.IGNORECASE)
"""At its beginning, what says whether to break a text's lines; and after which Mermaid removes the
last semicolon of a line, also if it ends an entity."""


class Arrow(StrEnum):
    """How a message is drawn."""

    REQUEST = "->>"
    RESPONSE = "-->>"
    NOTIFICATION = "-)"
    LOST = "-x"
    ERROR = "--x"


def escaped(text: str, most: int = LONGEST) -> str:
    """Writes a text on one line, cut and without any character that means something to Mermaid.

    Args:
        text: any text.
        most: the most characters that are shown.
    """
    shown = plain(text).strip()
    words = {match.start() for match in _WORDS.finditer(shown)}
    written: list[str] = []
    left = _LONGEST_WRITTEN
    for n, char in enumerate(shown):
        is_plain = (char.isalnum() or char in _HARMLESS) and char != _LIGATURE
        part = char if is_plain and n not in words else f"#{ord(char)};"
        left -= len(part) + (part > "\uffff")
        if n >= most or left < 0:
            return "".join(written).rstrip() + "…"
        written.append(part)
    return "".join(written)


def arrow(sender: str, kind: Arrow, receiver: str, text: str) -> str:
    """Returns the statement that draws a message.

    Args:
        sender: the name of a participant.
        kind: how it is drawn.
        receiver: the name of a participant.
        text: what is written above the arrow.
    """
    return f"    {sender}{kind}{receiver}: {escaped(text)}\n"


def note(place: str, text: str) -> str:
    """Returns the statement that draws a note.

    Args:
        place: where it is, such as ``over A,B``.
        text: what is written in it.
    """
    return f"    Note {place}: {escaped(text)}\n"


def participant(name: str, text: str) -> str:
    """Returns the statement that declares a participant.

    Args:
        name: by which other statements name it.
        text: what is written above its line.
    """
    return f"    participant {name} as {escaped(text, 40)}\n"
