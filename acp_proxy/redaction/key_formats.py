"""The keys of providers that are recognized by a prefix, as listed in `key_formats.txt`.

A row has the prefix, the alphabet of the characters after it, their least number and, after a dash,
their greatest number. A question mark means that other text has the same prefix too, so the
characters after it must look random. A key ends at the first character that is not in its alphabet.
"""

from base64 import b64encode
from pathlib import Path
from typing import NamedTuple

ALPHABETS = {
    "hex": "[0-9a-fA-F]*",
    "upper": "[A-Z0-9]*",
    "alnum": "[A-Za-z0-9]*",
    "url": "[A-Za-z0-9_-]*",
    "base64": "[A-Za-z0-9+/]*={0,3}",
    "dots": "[A-Za-z0-9_.-]*={0,3}",
    "path": "[A-Za-z0-9_/@%+-]*",
}
"""Patterns of the characters after the prefix."""
_TABLE = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
_PAIRS = [f"{number:02x}" for number in range(256)]
_STARTS = [*(pair for pair in _PAIRS if pair != "ed"), *(f"ed{c}" for c in "0123456789abcdef")]
_TWILIO = [f"SK{start} hex {32 - len(start)}-{32 - len(start)}" for start in _STARTS]
"""Keys of Twilio, with two digits in the prefix, since `SK` alone is in many words."""
_CODED = 6
"""The least length of a prefix that is also searched for in base64."""


class KeyFormat(NamedTuple):
    """The prefix and the form of one provider's keys."""

    prefix: str
    alphabet: str
    """A key of `ALPHABETS`."""
    least: int
    """The least number of characters after the prefix."""
    most: int | None
    """The greatest number of these characters; None if there is no limit."""
    weak: bool
    """Whether ordinary text often has the same prefix."""


def _row(line: str) -> KeyFormat:
    prefix, alphabet, lengths = line.split()
    least, _, most = lengths.rstrip("?").partition("-")
    return KeyFormat(
        prefix, alphabet, int(least), int(most) if most else None, lengths.endswith("?")
    )


def _encoded(row: KeyFormat) -> KeyFormat:
    """Returns the form of a key in base64, as in the secrets of Kubernetes."""
    prefix = b64encode(row.prefix[:_CODED].encode()).decode()
    least = (len(row.prefix) - _CODED + row.least) * 4 // 3
    return KeyFormat(prefix, "base64", least, None, False)


def key_formats() -> list[KeyFormat]:
    """Returns the rows of the table, longer prefixes first, so that exact ones are tried first."""
    rows = [_row(line) for line in (*_TABLE.splitlines(), *_TWILIO)]
    rows += [_encoded(row) for row in rows if len(row.prefix) >= _CODED and not row.weak]
    return sorted(rows, key=lambda row: len(row.prefix), reverse=True)
