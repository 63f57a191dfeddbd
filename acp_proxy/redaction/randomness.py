"""Distinguishes random text from words, and secrets from placeholders such as `$TOKEN`."""

import re
from math import log2

_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_SHORT_PIECE = 3.2
"""The largest average length of the pieces (runs of letters or digits) in random text."""
_SWITCH = re.compile(r"(?<=[0-9])[A-Za-z]|(?<=[A-Za-z])[0-9]")
_SWITCHES = (4, 0.15)
"""The least number of changes between letters and digits in random text: in total, and per
character."""
_NUMBERS = re.compile(r"v?[0-9][0-9.,:/_TZ+-]*")
_DRIVE = re.compile(r"[A-Za-z]:\\|file://")
_PATH = re.compile(r"(?:~|\.{0,2})(?:/[\w.@ ,-]+)+/?")
_LONG = 20
"""A text with a single slash before a name, such as ``/tmp``, is a path if the text has fewer
characters than this. A longer text of this form may be random."""
_SWITCH_VALUE = re.compile(r"[01]|true|false|yes|no|on|off|null|none", re.IGNORECASE)
_WORD_OR_NUMBER = re.compile(r"[A-Z]?[a-z]{1,16}|[A-Z]{1,16}|[0-9]{1,5}")
_PLACEHOLDER = re.compile(
    r"(?:your|example|placeholder|change|insert|enter|todo|replace)[-_ .]"
    r"|(?:process\.env|os\.environ|secrets|env)\.",
    re.IGNORECASE,
)
_STANDS_FOR_NOTHING = {
    "none", "null", "nil", "true", "false", "undefined", "unset", "empty", "yes", "no", "required",
    "optional", "string", "str", "bytes", "invalid", "missing", "expired",
}  # fmt: skip
_REFERENCES = ("$", "<", "{", "%(", "[redacted", "%s", "%v", "&", "(", "@{")


def is_varied(text: str) -> bool:
    """Whether a text has as many different characters as random text of its length."""
    return len(set(text)) >= (8 if len(text) >= 20 else 6)


def is_random(text: str) -> bool:
    """Whether a text is likely to be a generated key or a strong password.

    False for words, identifiers, paths, numbers, dates and versions.
    """
    if len(text) < 8 or not is_varied(text) or _NUMBERS.fullmatch(text):
        return False
    switches = len(_SWITCH.findall(text))
    if switches < _SWITCHES[0] or switches < _SWITCHES[1] * len(text):
        pieces = _PIECE.findall(text)
        letters = sum(map(len, pieces))
        if not pieces or letters > _SHORT_PIECE * len(pieces):
            return False
        if not any(c.isdigit() for c in text) and len(pieces) * 2.5 < letters:
            return False
    return _entropy(text) >= (3.0 if len(text) >= 16 else 2.5)


def is_placeholder(value: str) -> bool:
    """Whether a value only stands for a secret: `$TOKEN`, `****`, `none`, or an empty text."""
    return (
        not value
        or value.startswith(_REFERENCES)
        or value.lower() in _STANDS_FOR_NOTHING
        or len(set(value)) == 1
    )


def is_path(value: str) -> bool:
    """Whether a value is a path, and not random text that begins with a slash."""
    if value in (".", "..", "~") or _DRIVE.match(value):
        return True
    return bool(_PATH.fullmatch(value)) and (value.count("/") > 1 or len(value) < _LONG)


def is_switch(value: str) -> bool:
    """Whether a value only means yes, no or nothing, so that it is never a secret."""
    return _SWITCH_VALUE.fullmatch(value) is not None


def is_plain(value: str) -> bool:
    """Whether a value is a switch, a plain word or a small number."""
    return is_switch(value) or _WORD_OR_NUMBER.fullmatch(value) is not None


def is_example(value: str) -> bool:
    """Whether a value looks like an example in a manual: `your-key-here`, `process.env.KEY`."""
    return is_placeholder(value) or _PLACEHOLDER.match(value) is not None


def _entropy(text: str) -> float:
    """Returns Shannon's entropy of a text, in bits per character."""
    counts = [text.count(c) for c in set(text)]
    return log2(len(text)) - sum(count * log2(count) for count in counts) / len(text)
