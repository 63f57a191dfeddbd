"""Finds secrets in free text: keys of providers, tokens, credentials, and values with such names.

Each thing that is looked for has a needle, a word that is always in it: the beginning of a key, the
name of a value, `://` of an URL. An automaton says where needles stand, and a reader looks at what
is there. So a text without needles, which is nearly all text, is left after one pass, and the
time for others grows with the number of needles and with nothing else: a reader follows a run of
characters only, and does not read the same run over and over (`Search.may_read`).

What is recognized is deliberately not all that could be a secret. Text of a person or a file has
to look like one, since a recording with half of its words masked helps nobody. In text that a
program wrote about its own use (`loose`) a name is enough.
"""

from collections import defaultdict
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
    """A word that is in every secret of one form."""

    word: str
    exact: bool
    """In this case only."""
    read: Reader | None
    """Looks at the text from the word on; None if it is for text that is not decoded yet."""


def find(text: str, *, loose: bool) -> list[Found]:
    """Finds the secrets in a text, in order and without overlaps.

    Only the secret itself: not `Bearer`, the name of the value, or the header of a PEM block.

    Args:
        text: any text, decoded.
        loose: it is an argument, a command, a URL or what a program reported, where the value of
            `--NAME value`, `--NAME=value` and `NAME=value` is secret whatever it is.
    """
    return search(text, loose=loose).found


def search(text: str, *, loose: bool, places: Places | None = None) -> Search:
    """Searches a text; the search also says what the end of the text leaves open.

    Args:
        text: any text, decoded.
        loose: see `find`.
        places: where needles stand in it, if that is known, and perhaps words with higher numbers.
    """
    if places is None:
        places = of_all_words().places(one_byte_each(text))
    made = Search(text, places, loose=loose)
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
    """Whether a line as it was read may have anything to mask; fast, and True when in doubt.

    Never False if `find` finds something in it or in a string of it, or if it may have a member
    whose name means a secret, or one named `env`, `headers`, `credentials` or `url`.
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
    """Returns who reads what is found by each of `all_words`, in their order."""
    formats: dict[str, list[KeyFormat]] = defaultdict(list)
    for row in key_formats():
        formats[row.prefix.partition("/")[0]].append(row)
    return (
        *(Needle(word, True, key_reader(formats[word])) for word in beginnings()),
        *(Needle(name, False, read_assignment) for name in NAMES),
        *(Needle(word, word in EXACT, READERS[word]) for word in FORMS),
        *(Needle(word, False, None) for word in PLACES),
    )
