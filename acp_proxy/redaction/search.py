"""One search of a text: what it has found, which runs were read, and what the end leaves open."""

from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

from acp_proxy.redaction.expressions import expressions
from acp_proxy.redaction.needles import Places

_RETRIES = 8
"""How many needles in one run of characters are looked at."""
_NAME_CHARACTERS = "-_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
LONGEST_NAME = 80
"""Characters of a name at most."""


class Found(NamedTuple):
    """A secret in a text."""

    start: int
    end: int
    kind: str
    """`token`, `key`, `password`, `url`, `pem`, `jwt`, `cookie`, `credential` or `secret`."""


class Search:
    """One search of a text.

    Args:
        text: what is searched.
        loose: whether a name is enough.
        places: where the words stand that are looked for.

    Attributes:
        found: the secrets, in order and without overlaps.
        opened: places where something begins that the end of the text leaves open.
    """

    def __init__(self, text: str, places: Places, *, loose: bool) -> None:
        self.text = text
        self.loose = loose
        self.places = places
        self.found: list[Found] = []
        self.opened: list[int] = []
        self._run_ends: dict[str, int] = {}
        self._tries: dict[str, int] = defaultdict(int)

    def may_read(self, run: str, start: int) -> bool:
        """Whether a run of characters from a place on is to be read.

        It is not if many needles in the same run were looked at already.

        Args:
            run: what its characters are.
            start: the place.
        """
        if start >= self._run_ends.get(run, 0):
            self._tries[run] = 0
            return True
        self._tries[run] += 1
        return self._tries[run] <= _RETRIES

    def have_read(self, run: str, start: int, end: int) -> None:
        """Notes how far a run was read, and that what begins there may go on after the text.

        Args:
            run: what its characters are.
            start: where it was read from.
            end: where it ends.
        """
        self._run_ends[run] = max(end, self._run_ends.get(run, 0))
        if end == len(self.text):
            self.leave_open(start)

    def leave_open(self, start: int) -> None:
        """Notes that what begins there may go on after the end of the text."""
        self.opened.append(start)

    def begins_word(self, start: int, *, joined: bool = False) -> bool:
        """Whether nothing of a word stands before a place.

        Args:
            start: the place.
            joined: whether dashes, dots and underscores belong to words.
        """
        if start == 0:
            return True
        before = self.text[start - 1]
        in_word = before.isascii() and before.isalnum()  # Chinese has no spaces between words
        if not in_word and before != "+" and not (joined and before in "-_."):
            return True
        return expressions().before.search(self.text[max(0, start - 12) : start]) is not None


Reader = Callable[[Search, int], Found | None]
"""Reads what stands at a needle: the secret there, or None if there is none."""


def name_start(text: str, place: int) -> int:
    """Returns where the name begins that a place is in.

    Args:
        text: any text.
        place: in it.
    """
    before = text[max(0, place - LONGEST_NAME) : place]
    return place - len(before) + len(before.rstrip(_NAME_CHARACTERS))


def name_end(text: str, place: int) -> int:
    """Returns where the name ends that a place is in.

    Args:
        text: any text.
        place: in it.
    """
    there = text[place : place + LONGEST_NAME + 1]
    return place + len(there) - len(there.lstrip(_NAME_CHARACTERS))


def scheme_start(text: str, end: int) -> int:
    """Returns where the scheme of a URL begins.

    Args:
        text: any text.
        end: the place of the colon after it.
    """
    before = text[max(0, end - 16) : end]
    return end - len(before) + len(before.rstrip(_NAME_CHARACTERS + "+"))
