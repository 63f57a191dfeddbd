"""Finds secrets in free text: provider keys, tokens, credentials, and values with secret names.

Every form of a secret has a needle, a word that it always contains: the prefix of a key, the name
of a value, the `://` of a URL. An automaton finds the needles, and a reader examines the text at
each of them. Text without needles, which is nearly all text, takes one pass only. Otherwise the
time grows with the number of needles: a reader follows one run of characters, and does not read the
same run again and again (`Search.may_read`).

Not everything that may be a secret is masked. In text of a person or a file, a value must also look
random, since a recording with half of its words masked helps nobody. In commands, errors and the
like (`loose`), the name of a secret before a value is enough.
"""

from collections import defaultdict
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

from acp_proxy.redaction.assignments import read_assignment
from acp_proxy.redaction.key_formats import KeyFormat, key_formats
from acp_proxy.redaction.needles import (
    FORMS,
    NAMES,
    PLACES,
    Places,
    beginnings,
    of_all_words,
    one_byte_each,
)
from acp_proxy.redaction.readers import EXACT, READERS, key_reader
from acp_proxy.redaction.search import Found, Reader, Search


class Needle(NamedTuple):
    """A word that every secret of one form contains."""

    word: str
    exact: bool
    """Whether upper and lower case must match."""
    read: Reader | None
    """Reads the secret at the word; None for a word that only shows that a line must be decoded."""


def find(text: str, *, loose: bool) -> list[Found]:
    """Returns the secrets in a text, in order and without overlaps.

    The ranges have only the secrets: not `Bearer`, the name of a value, or the header of a PEM
    block.

    Args:
        text: any text, decoded.
        loose: whether the text is an argument, a command, a URL or an error, where the value of
            `--NAME value`, `--NAME=value` and `NAME=value` is a secret whatever it looks like.
    """
    return search(text, loose=loose).found


def search(
    text: str, *, loose: bool, places: Places | None = None, seams: Collection[int] = ()
) -> Search:
    """Searches a text, and returns the secrets and the places where one may be cut off.

    Args:
        text: any text, decoded.
        loose: see `find`.
        places: the matches of needles in the text, if they are known; matches of words whose
            numbers are higher than those of needles are ignored.
        seams: where pieces of the text begin.
    """
    if places is None:
        places = of_all_words().places(one_byte_each(text))
    made = Search(text, places, loose=loose, seams=seams)
    needles = all_needles()
    found: list[Found] = []
    for number, start in places:
        if number >= len(needles):
            continue
        needle = needles[number]
        if needle.read is None or (needle.exact and not text.startswith(needle.word, start)):
            continue
        if one := needle.read(made, start):
            found.append(one)
    made.found = _merged(sorted(found)) if len(found) > 1 else found
    return made


def may_hold(line: bytes) -> bool:
    """Whether a line may have anything to mask; fast, and True when in doubt.

    Never False if `find` finds a secret in the line or in a decoded string of it, or if the line
    may have a member with the name of a secret, or one named `env`, `headers`, `credentials` or
    `url`.

    Args:
        line: the bytes as they were read.
    """
    return of_all_words().are_in(line)


def _merged(found: list[Found]) -> list[Found]:
    merged = found[:1]
    for one in found[1:]:
        last = merged[-1]
        if one.start >= last.end:
            merged.append(one)
        elif one.end > last.end:
            merged[-1] = last._replace(end=one.end)
    return merged


@cache
def all_needles() -> tuple[Needle, ...]:
    """Returns the needle of each of `all_words`, in the same order."""
    formats: dict[str, list[KeyFormat]] = defaultdict(list)
    for row in key_formats():
        formats[row.prefix.partition("/")[0]].append(row)
    return (
        *(Needle(word, True, key_reader(formats[word])) for word in beginnings()),
        *(Needle(name, False, read_assignment) for name in NAMES),
        *(Needle(word, word in EXACT, READERS[word]) for word in FORMS),
        *(Needle(word, False, None) for word in PLACES),
    )
