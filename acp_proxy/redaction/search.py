"""One search of a text: what was found, which runs were read, and what the end may cut off."""

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import NamedTuple

from acp_proxy.redaction.expressions import expressions
from acp_proxy.redaction.needles import Places

_RETRIES = 8
"""How many needles within one run of characters are examined."""
_NAME_CHARACTERS = "-_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
LONGEST_NAME = 80
"""The most characters of a name."""


class Found(NamedTuple):
    """A secret in a text."""

    start: int
    end: int
    kind: str
    """`token`, `key`, `password`, `url`, `pem`, `jwt`, `cookie`, `credential` or `secret`."""


class Search:
    """One search of a text.

    Args:
        text: the text.
        loose: see `patterns.find`.
        places: the matches of needles in the text.
        seams: where pieces of the text begin, at which a word may begin and end.

    Attributes:
        found: the secrets, in order and without overlaps.
        opened: where secrets may begin that the end of the text cuts off.
    """

    def __init__(
        self, text: str, places: Places, *, loose: bool, seams: Collection[int] = ()
    ) -> None:
        self.text = text
        self.seams = seams
        self.loose = loose
        self.places = places
        self.found: list[Found] = []
        self.opened: list[int] = []
        self._run_ends: dict[str, int] = {}
        self._tries: dict[str, int] = defaultdict(int)

    def may_read(self, run: str, start: int) -> bool:
        """Whether a reader should read a run of characters.

        False if it was read from many needles in the same run before.

        Args:
            run: the name of the run's alphabet.
            start: the index at which the run begins.
        """
        if start >= self._run_ends.get(run, 0):
            self._tries[run] = 0
            return True
        self._tries[run] += 1
        return self._tries[run] <= _RETRIES

    def have_read(self, run: str, start: int, end: int) -> None:
        """Notes that a run was read; calls `leave_open` if it extends to the end of the text.

        Args:
            run: the name of the run's alphabet.
            start: the index at which the secret begins, or may begin.
            end: the index after the last character of the run.
        """
        self._run_ends[run] = max(end, self._run_ends.get(run, 0))
        if end == len(self.text):
            self.leave_open(start)

    def leave_open(self, start: int) -> None:
        """Notes that a secret may begin at an index and continue after the end of the text."""
        self.opened.append(start)

    def begins_word(self, start: int, *, joined: bool = False) -> bool:
        """Whether a word may begin at an index.

        Args:
            start: the index.
            joined: whether dashes, dots and underscores belong to words.
        """
        if start == 0 or start in self.seams:
            return True
        before = self.text[start - 1]
        in_word = before.isascii() and before.isalnum()  # Chinese has no spaces between words
        if not in_word and before != "+" and not (joined and before in "-_."):
            return True
        return expressions().before.search(self.text[max(0, start - 12) : start]) is not None


Reader = Callable[[Search, int], Found | None]
"""Returns the secret at the index of a needle, or None if there is none."""


def name_start(text: str, place: int) -> int:
    """Returns the index at which a name begins.

    Args:
        text: any text.
        place: an index within the name.
    """
    before = text[max(0, place - LONGEST_NAME) : place]
    return place - len(before) + len(before.rstrip(_NAME_CHARACTERS))


def name_end(text: str, place: int) -> int:
    """Returns the index after the last character of a name.

    Args:
        text: any text.
        place: an index within the name.
    """
    there = text[place : place + LONGEST_NAME + 1]
    return place + len(there) - len(there.lstrip(_NAME_CHARACTERS))


def scheme_start(text: str, end: int) -> int:
    """Returns the index at which the scheme of a URL begins.

    Args:
        text: any text.
        end: the index of the colon after the scheme.
    """
    before = text[max(0, end - 16) : end]
    return end - len(before) + len(before.rstrip(_NAME_CHARACTERS + "+"))
