"""The provider keys that are recognized by a prefix. They are listed in `key_formats.txt`.

A row of the list has three columns:

- the prefix;
- the alphabet of the characters after the prefix;
- the least number of these characters or, with a dash, the least and the greatest number.

A question mark after the number means that the characters must look random, since other texts have
the prefix too. A key ends before the first character that is not in its alphabet.
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
"""The pattern of the characters after a prefix, by the name of the alphabet."""
_TABLE = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
_PAIRS = [f"{number:02x}" for number in range(256)]
_STARTS = [*(pair for pair in _PAIRS if pair != "ed"), *(f"ed{c}" for c in "0123456789abcdef")]
_TWILIO = [f"SK{start} hex {32 - len(start)}-{32 - len(start)}" for start in _STARTS]
"""The rows for keys of Twilio. Each prefix includes two hexadecimal digits, since many words
contain `SK`."""
_CODED = 6
"""Keys whose prefix has at least this many characters are also searched for in base64."""


class KeyFormat(NamedTuple):
    """The prefix and the form of one kind of provider keys."""

    prefix: str
    alphabet: str
    """The name of an alphabet: a key of `ALPHABETS`."""
    least: int
    """The least number of characters after the prefix."""
    most: int | None
    """The greatest number of characters after the prefix; None if there is no limit."""
    weak: bool
    """Whether the prefix is also frequent in texts that are not keys."""


def _row(line: str) -> KeyFormat:
    prefix, alphabet, lengths = line.split()
    least, _, most = lengths.rstrip("?").partition("-")
    return KeyFormat(
        prefix, alphabet, int(least), int(most) if most else None, lengths.endswith("?")
    )


def _encoded(row: KeyFormat) -> KeyFormat:
    """Returns the format that the keys of a row have when they are encoded in base64."""
    prefix = b64encode(row.prefix[:_CODED].encode()).decode()
    least = (len(row.prefix) - _CODED + row.least) * 4 // 3
    return KeyFormat(prefix, "base64", least, None, False)


def key_formats() -> list[KeyFormat]:
    """Returns all formats, sorted so that formats with longer prefixes are tried first."""
    rows = [_row(line) for line in (*_TABLE.splitlines(), *_TWILIO)]
    rows += [_encoded(row) for row in rows if len(row.prefix) >= _CODED and not row.weak]
    return sorted(rows, key=lambda row: len(row.prefix), reverse=True)
