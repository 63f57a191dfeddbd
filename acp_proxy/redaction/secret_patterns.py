"""Finds secrets in free text: provider keys, tokens, credentials, and values with secret names.

Every form of a secret has a needle, a word that the form always contains: the prefix of a key, the
name of a value, the `://` of a URL. An automaton finds the needles, and a reader examines the text
at each needle. Nearly all text has no needles and takes a single pass.

For other text, the time is proportional to the number of needles: a reader reads only the run of
characters at its needle (`Search.may_read`).

In the text of a person or a file, a value is masked only if it looks random. In commands, errors
and similar texts (`loose`), each value after the name of a secret is masked.

A text may arrive in pieces. `tail` finds the beginning of a secret that the end of a piece cuts
off.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from acp_proxy.redaction.key_formats import KeyFormat, key_formats
from acp_proxy.redaction.needles import (
    COMMANDS,
    FORMS,
    NAMES,
    PLACES,
    Places,
    beginnings,
    of_all_words,
    one_byte_each,
)
from acp_proxy.redaction.secret_readers import EXACT, READERS, key_reader, read_assignment
from acp_proxy.redaction.text_search import Reader, Search, SecretMatch, expressions, name_start


class Needle(NamedTuple):
    """A word that every secret of one form contains, and the reader of these secrets."""

    word: str
    exact: bool
    """Whether the search distinguishes upper and lower case."""
    read: Reader | None
    """Reads the secret at the word. None if the word only shows that a line must be decoded."""


def find(text: str, *, loose: bool) -> list[SecretMatch]:
    """Returns the secrets in a text, in order and without overlaps.

    The ranges cover only the secrets, without `Bearer`, the name of a value, or a PEM header.

    Args:
        text: any text, decoded.
        loose: whether the text is an argument, a command, a URL or an error. In these texts, the
            value in `--NAME value`, `--NAME=value` or `NAME=value` is a secret if NAME is the name
            of a secret.
    """
    return search(text, loose=loose).secrets


def search(
    text: str, *, loose: bool, places: Places | None = None, seams: Sequence[int] = ()
) -> Search:
    """Searches a text for secrets, including a secret that is cut off by the end of the text.

    Args:
        text: any text, decoded.
        loose: see `find`.
        places: the matches of needles in the text, if known. The matches of other words are
            ignored: their numbers are higher than the numbers of the needles.
        seams: the indexes where pieces of the text begin.
    """
    if places is None:
        places = of_all_words().places(one_byte_each(text))
    result = Search(text, places, loose=loose, seams=seams)
    needles = all_needles()
    secrets: list[SecretMatch] = []
    for number, start in places:
        if number >= len(needles):
            continue
        needle = needles[number]
        if needle.read is None or (needle.exact and not text.startswith(needle.word, start)):
            continue
        if secret := needle.read(result, start):
            secrets.append(secret)
    result.secrets = _merged(sorted(secrets)) if len(secrets) > 1 else secrets
    return result


def may_hold(line: bytes) -> bool:
    """Whether a line may have anything to mask; fast, and True when in doubt.

    True if `find` finds a secret in the line or in one of its decoded strings. Also True for a
    member whose name is `env`, `headers`, `credentials`, `url` or the name of a secret.

    Args:
        line: the bytes of the line, as they were read.
    """
    return of_all_words().are_in(line)


def _merged(secrets: list[SecretMatch]) -> list[SecretMatch]:
    merged = secrets[:1]
    for secret in secrets[1:]:
        last = merged[-1]
        if secret.start >= last.end:
            merged.append(secret)
        elif secret.end > last.end:
            merged[-1] = last._replace(end=secret.end)
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


LONGEST = 1 << 14
"""The largest number of characters at the end of a text that `tail` reads."""
_LONGEST_CUT = 24
_PART_OF_NAME = re.compile(r"[-_:\\%\x1b]|[a-z][A-Z].?$")
"""Matches what may be before the searched part of a name: a separator, a change of case, an escape,
or a scheme's colon."""


def tail(text: str, searched: Search | None = None) -> int:
    """If a text may end inside a secret, returns the index where this secret begins.

    The caller keeps the text from this index on, and passes it to `find` together with the next
    text. Then `find` finds each secret that was cut off. The exceptions are:

    - a cut after the first character of a key, such as the `s` of `sk-`;
    - a cut after the first or second character of a listed name or scheme, such as `to` of `token`;
    - a cut within `curl -u`, or within the name of another command;
    - a cut in a secret that is longer than `LONGEST`.

    The index is never inside a secret that ends before the end of the text.

    Args:
        text: any text, decoded.
        searched: an earlier search of the text. Its value of ``loose`` is used again. Without a
            search, ``loose`` is True.

    Returns:
        The index; the length of the text if no secret can be cut off.
    """
    seams = () if searched is None else searched.seams
    is_open = ends_open(text, seams)
    if searched is None or len(text) > LONGEST:
        if not is_open and not may_hold(text[-LONGEST:].encode("utf-8", "replace")):
            return len(text)
        searched = search(text[-LONGEST:], loose=searched is None or searched.loose)
    if not is_open and (not searched.places or text[-_LONGEST_CUT:].isascii()):
        places = searched.opened
    else:
        places = [*searched.opened, *_partial(searched)]
    if not (places or is_open):
        return len(text)
    end_text = searched.text
    ended = [secret for secret in searched.secrets if secret.end < len(end_text)]
    start = min(
        (place for place in places if not any(s.start < place < s.end for s in ended)),
        default=len(end_text),
    )
    # An escape before the secret shows that a word begins there, so the caller must keep the escape
    # too.
    if escape := expressions().escape.search(end_text[max(0, start - 12) : start]):
        start -= len(escape[0])
    return len(text) - len(end_text) + start


def ends_open(text: str, seams: Sequence[int] = ()) -> bool:
    """Whether a text without needles may end with the beginning of a secret.

    The function is fast, and returns True when in doubt.

    Args:
        text: any text.
        seams: the indexes where pieces of the text begin; a word may begin at each of them.
    """
    for seam in seams[bisect_right(seams, len(text) - _LONGEST_CUT) :]:
        if seam < len(text):
            piece = text[seam:]
            if ends_open(piece) or piece in _beginnings()[0]:
                return True
    end = text[-_LONGEST_CUT:]
    word = end[end.rfind(" ") + 1 :]
    if not word:
        return False
    if not (word.isalpha() and word[1:].islower()) and _PART_OF_NAME.search(word):
        return True
    end = end.lower()
    if end.endswith(_ENDINGS.get(end[-3:], ())):
        return True
    return end[-2:] in _ENDINGS and not end[-3:-2].isalnum()


def _endings() -> dict[str, tuple[str, ...]]:
    """Returns the prefixes of needles, grouped by their last characters.

    The key of a group is the last three characters, or the whole prefix if it has two characters.
    """
    exact, folded, _ = _beginnings()
    endings: dict[str, list[str]] = defaultdict(list)
    for word in {word.lower() for word in exact | folded if len(word) > 1}:
        endings[word[-3:]].append(word[-_LONGEST_CUT:])
    return {end: tuple(words) for end, words in endings.items()}


def _partial(searched: Search) -> Iterator[int]:
    """Yields each index where a needle may begin if the text ends inside this needle."""
    text = searched.text
    exact, folded, longest = _beginnings()
    for length in range(min(longest, len(text)), 0, -1):
        end = text[-length:]
        start = len(text) - length
        is_cut = length > 1 or bool(searched.seams_within(start - 1, start))
        if is_cut and end in exact and searched.begins_word(start):
            yield start
        if end.lower() in folded and (length > 2 or _begins_part(text, start)):
            yield name_start(text, start)
    if cut := expressions().cut_name.search(text[-16:]):
        yield name_start(text, len(text) - len(cut[0]))
    if cut := expressions().cut.search(text[-24:]):
        yield len(text) - len(cut[0])


def _begins_part(text: str, start: int) -> bool:
    """Whether a part of a name begins at an index: the `T` of `access_T` or `accessT`."""
    before = text[start - 1 : start]
    return before in ("_", "-") or (before.islower() and text[start].isupper())


@cache
def _beginnings() -> tuple[frozenset[str], frozenset[str], int]:
    """Returns two sets of prefixes of needles, and the length of the longest prefix.

    The first set belongs to the needles that distinguish upper and lower case, the second set to
    all other needles.
    """
    words: dict[bool, set[str]] = {True: set(), False: set()}
    for needle in all_needles():
        if needle.read is not None and needle.word not in COMMANDS:  # commands are not secrets
            beginnings = (needle.word[:end] for end in range(1, len(needle.word)))
            words[needle.exact].update(beginnings)
    longest = max(map(len, words[True] | words[False]))
    return frozenset(words[True]), frozenset(words[False]), longest


_ENDINGS = _endings()
