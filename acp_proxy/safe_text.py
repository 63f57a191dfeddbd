"""Makes recorded text safe to print: it cannot control a terminal, and nothing is invisible."""

import re

LONGEST = 2000
"""Characters of a line that are shown."""

_EMOJI = "\u2600-\u27bf\U0001f000-\U0001faff"
_JOINED = re.compile(f"(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])")
"""The joiner within an emoji, the only invisible character that is kept."""


def plain(text: str) -> str:
    """Makes text safe to print on one line, and cuts it to `LONGEST` characters."""
    return visible(text[:LONGEST].replace("\r\n", "\n").replace("\t", " "))[:LONGEST]


def visible(text: str) -> str:
    """Writes control characters and invisible ones as escapes."""
    if text.isprintable():
        return text
    return "\u200d".join(map(_escaped, _JOINED.split(text)))


def _escaped(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
