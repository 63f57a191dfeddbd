"""Makes recorded text safe to print: it cannot command a terminal, and hides nothing."""

import re

LONGEST = 2000
"""Characters of a line that are shown."""

_EMOJI = "\u2600-\u27bf\U0001f000-\U0001faff"
_JOINED = re.compile(f"(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])")
"""The joiner within an emoji, which is the one invisible character that is left alone."""


def plain(text: str) -> str:
    """Makes text safe to print on one line: control characters become visible escapes."""
    return visible(text[:LONGEST].replace("\r\n", "\n").replace("\t", " "))[:LONGEST]


def visible(text: str) -> str:
    """Writes control characters as escapes."""
    if text.isprintable():
        return text
    return "\u200d".join(map(_escaped, _JOINED.split(text)))


def _escaped(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
