"""Reads passwords in known commands: `mysql -uroot -pX`, `sshpass -p X`, `IDENTIFIED BY 'X'`.

Each is recognized by a word that the command always has, and by the place of the password in it.
"""

import re
from functools import cache

from acp_proxy.redaction.randomness import is_example, is_plain
from acp_proxy.redaction.search import Found, Search

_VALUE = r"""["']?([^\s"'`|;&<>()]{1,256})"""
_WORDS = r"(?:[ \t]+(?!-[paP])[^\s|;&]{1,128}){0,12}?[ \t]+"
_COMMANDS = (
    rf"(?:mysql|mariadb)[\w-]{{0,8}}{_WORDS}-p(?!ort\b|ipe\b|rotocol\b){_VALUE}",
    rf"(?:docker|podman) login{_WORDS}(?:-p|--password)[ =]{_VALUE}",
    rf"sshpass[ \t]+-p[ \t]*{_VALUE}",
    rf"redis-cli{_WORDS}-a[ \t]*{_VALUE}",
    rf"sqlcmd{_WORDS}(?-i:-P)[ \t]*{_VALUE}",
    r"identified[ \t]+(?:with[ \t]+\S{1,64}[ \t]+)?by[ \t]+(?:password[ \t]+)?"
    rf"""(?=["']){_VALUE}""",
    rf"setx[ \t]+\w{{0,80}}(?:key|token|secret|passw(?:or)?d|pwd|pat)[ \t]+{_VALUE}",
    rf"machine\s+\S{{1,256}}\s+login\s+\S{{1,256}}\s+password\s+{_VALUE}",  # netrc
)
_LONGEST = 400
"""The largest number of characters of a command before its password."""
_PATIENCE = 120
"""Characters of a command after which no more of a text in pieces is read to find its password."""
_SAMPLES = {"password", "passwd", "secret", "pass", "pw", "xxx", "to", "for", "and", "or", "the"}


@cache
def _command() -> re.Pattern[str]:
    return re.compile("|".join(_COMMANDS), re.IGNORECASE)


def read_command(search: Search, start: int) -> Found | None:
    """Returns the password in the command at an index, or None if there is none.

    Args:
        search: the search of the text.
        start: the index of the command's word.
    """
    text = search.text
    match = _command().match(text, start, start + _LONGEST)
    if match is None:
        line = text[start : start + _PATIENCE]
        if len(line) < _PATIENCE and (line[:7].lower() == "machine" or "\n" not in line):
            search.leave_open(start)
        return None
    if match.end() == len(text):
        search.leave_open(start)
    value, place = match[match.lastindex or 0], match.span(match.lastindex or 0)
    is_sentence = match[0][:7].lower() == "machine" and is_plain(value)
    if is_sentence or is_example(value) or value.lower() in _SAMPLES:
        return None
    return Found(*place, "password")
