"""Searches one text for secrets, also for a secret that the end of the text cuts off.

The regular expressions are compiled when the first needle matches, since compiling takes long.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from attrs import define, field

from acp_proxy.redaction.key_formats import ALPHABETS
from acp_proxy.redaction.needles import Places


class Expressions:
    """The regular expressions; each is named after what it matches."""

    def __init__(self) -> None:
        self.runs = {name: re.compile(pattern) for name, pattern in ALPHABETS.items()}
        self.jwt = re.compile(r"eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*){1,3}", re.ASCII)
        self.open_jwt = re.compile(r"eyJ[\w-]*(?:\.[\w-]*){0,4}", re.ASCII)
        self.pem_header = re.compile(r"BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
        self.open_pem = re.compile(r"BEGIN ?[A-Z0-9 ]{0,60}-{0,5}")
        self.pem_body = re.compile(r"(?:[^-]++|-(?!----))*")
        self.base64_lines = re.compile(r"(?:[A-Za-z0-9+/=\s]++|\\+[nr])*")
        self.base64 = re.compile(r"[A-Za-z0-9+/=]{20}")
        self.telegram = re.compile(r":AA[\w-]{0,33}", re.ASCII)
        self.scheme = re.compile(r"(?:bearer|basic)[ \t]{1,4}", re.IGNORECASE)
        self.credential = re.compile(r"[A-Za-z0-9._~+/-]*=*")
        self.user_info = re.compile(
            r"""://([^\s/?#@:"'<>]{0,256}+)(:?)([^\s/?#@"'<>]{0,1024}+)(@?)"""
        )
        self.curl_user = re.compile(
            r"""(?: -u|--user)[ =]{0,4}["']?[^\s:"']{0,256}:((?:[^\s"']|["'](?=\S)){1,1024})"""
        )
        self.assignment = re.compile(
            r"""(?P<closing>\\*["'`])?\]?[ \t]{0,4}(?:"""
            r"""(?:[A-Za-z]{1,20}[ \t](?==))?"""  # a type, as in `var token string = "..."`
            r"""(?P<operator>=>|:{1,3}=|[.?|+]=|[:=]=?|>\s{0,12}|,(?=[ \t]?\\*["'`]))"""
            r"""(?:[ \t]?[A-Za-z_]{1,20}[ \t]=(?=[ \t]))?"""  # a type, as in `token: str = "..."`
            r"""(?P<spaces>[ \t]{0,4})|(?P<argument>[ \t]{1,4}|["'],[ \t]?(?=["'])))"""
            r"""(?P<quote>\\*["'`])?(?P<scheme>(?:bearer|basic|token|apikey)[ \t]{1,4})?""",
            re.IGNORECASE,
        )
        self.open_name = re.compile(  # the text between a name and its value, cut off
            r"""\\*["'`]?\]?[ \t]{0,4}(?:[sS][a-z]{0,5}[ \t]?)?[:,.?|+=>]{0,4}\s{0,12}"""
            r"""(?:[sS][a-z]{0,5}[ \t]?=?[ \t]?)?\\*["'`]?"""
        )
        self.cut = re.compile(
            r"[A-Za-z][A-Za-z0-9+.-]{0,15}:/$|-B$|(?:https?|ftps?|sftp|ssh|git|wss?|postgres(?:ql)?"
            r"|mysql|mssql|mongodb(?:\+srv)?|rediss?|amqps?|smtps?|ldaps?):$"
        )
        first_part = "(?:api|access|private|account|encryption|master|shared|signing)"
        self.cut_name = re.compile(f"[-_]{first_part}$|{first_part}[-_]$", re.IGNORECASE)
        self.unquoted = re.compile(r"""[^\s"'`,;<>(){}\[\]|&\\]{0,4096}""")
        self.quoted = {
            '"': re.compile(r'(?:[^"\\\r\n]|\\[^\r\n]){0,4096}'),
            "'": re.compile(r"(?:[^'\\\r\n]|\\[^\r\n]){0,4096}"),
            "`": re.compile(r"(?:[^`\\\r\n]|\\[^\r\n]){0,4096}"),
        }
        self.escaped = re.compile(r"""[^"'`\\\r\n]{0,4096}""")
        self.line = re.compile(r"""[^"'`\r\n\\]{0,4096}""")
        before = "server|data source|host|uid|user id"
        self.connection = re.compile(rf"(?i:{before}) ?=[^;]{{0,99}};[^\n]{{0,200}}$")
        self.escape = re.compile(r"(?:\\[nrt]?|%[0-9A-Fa-f]{0,2}|\x1b(?:\[[0-9;]*m?)?)$")
        self.before = re.compile(r"(?:\\[nrt]|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]*m)$")


expressions = cache(Expressions)
"""Returns the regular expressions; the first call compiles them."""


_RETRIES = 8
"""The most needles that are examined within one run of characters."""
_NAME_CHARACTERS = "-_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
LONGEST_NAME = 80
"""The largest number of characters of a name."""


class SecretMatch(NamedTuple):
    """A secret in a text."""

    start: int
    end: int
    kind: str
    """`token`, `key`, `password`, `url`, `pem`, `jwt`, `cookie`, `credential` or `secret`."""


@define(eq=False)
class Search:
    """One search of a text.

    Args:
        text: the text.
        loose: see `secret_patterns.find`.
        places: the matches of needles in the text.
        seams: the indexes where pieces of the text begin; a word may begin or end at each of them.

    Attributes:
        secrets: the secrets found, in order and without overlaps.
        opened: the indexes of the beginnings of secrets that the end of the text may cut off.
    """

    text: str
    places: Places
    loose: bool = field(kw_only=True)
    seams: Sequence[int] = field(default=(), kw_only=True)
    secrets: list[SecretMatch] = field(init=False, factory=list)
    opened: list[int] = field(init=False, factory=list)
    _run_ends: dict[str, int] = field(init=False, factory=dict)
    _tries: defaultdict[str, int] = field(init=False, factory=lambda: defaultdict(int))

    def may_read(self, run: str, start: int) -> bool:
        """Whether a reader should read a run of characters.

        False if the run has been read for `_RETRIES` needles.

        Args:
            run: the name of the run's alphabet.
            start: the index where the run begins.
        """
        if start >= self._run_ends.get(run, 0):
            self._tries[run] = 0
            return True
        self._tries[run] += 1
        return self._tries[run] <= _RETRIES

    def have_read(self, run: str, start: int, end: int) -> None:
        """Notes that a run was read, and calls `leave_open` if the run reaches the end of the text.

        Args:
            run: the name of the run's alphabet.
            start: the index where the secret begins or may begin.
            end: the index after the last character of the run.
        """
        self._run_ends[run] = max(end, self._run_ends.get(run, 0))
        if end == len(self.text):
            self.leave_open(start)

    def leave_open(self, start: int) -> None:
        """Notes that a secret may begin at an index and continue after the end of the text."""
        self.opened.append(start)

    def seams_within(self, after: int, last: int) -> Sequence[int]:
        """Returns the seams (the places where pieces of the text begin) in a range of indexes.

        Args:
            after: the first index; a seam at this index is not returned.
            last: the last index; a seam at this index is returned.
        """
        return self.seams[bisect_right(self.seams, after) : bisect_right(self.seams, last)]

    def begins_word(self, start: int, *, joined: bool = False) -> bool:
        """Whether a word may begin at an index of the text.

        Args:
            start: the index.
            joined: whether dashes, dots and underscores count as parts of words.
        """
        if start == 0 or self.seams_within(start - 1, start):
            return True
        before = self.text[start - 1]
        in_word = before.isascii() and before.isalnum()  # Chinese words have no spaces
        if not in_word and before != "+" and not (joined and before in "-_."):
            return True
        return expressions().before.search(self.text[max(0, start - 12) : start]) is not None


Reader = Callable[[Search, int], SecretMatch | None]
"""Returns the secret at the index of a needle; None if no secret is there."""


def name_start(text: str, place: int) -> int:
    """Returns the index where a name begins.

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
    """Returns the index where the scheme of a URL begins.

    Args:
        text: any text.
        end: the index of the colon after the scheme.
    """
    before = text[max(0, end - 16) : end]
    return end - len(before) + len(before.rstrip(_NAME_CHARACTERS + "+"))
