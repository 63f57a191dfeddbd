"""Reads passwords in known commands: `mysql -uroot -pX`, `sshpass -p X`, `IDENTIFIED BY 'X'`.

Each is recognized by a word that the command always has, and by the place of the password in it.
"""

import re
from functools import cache

from acp_proxy.redaction.names import is_secret_name
from acp_proxy.redaction.needles import COMMANDS
from acp_proxy.redaction.randomness import is_example, is_placeholder, is_plain
from acp_proxy.redaction.search import Found, Search

_VALUE = r"""["']?(?P<value>[^\s"'`|;&<>()]{1,256})"""
_WORDS = r"(?:[ \t]+(?!%s)[^\s|;&]{1,128}){0,12}?[ \t]+"
_PATTERNS = {
    "mysql": r"mysql\w{0,8}" + _WORDS % "-p" + rf"-p(?!ort\b|ipe\b|rotocol\b){_VALUE}",
    "mariadb": r"mariadb[\w-]{0,8}" + _WORDS % "-p" + rf"-p(?!ort\b|ipe\b|rotocol\b){_VALUE}",
    "sshpass": rf"sshpass[ \t]+-p[ \t]*{_VALUE}",
    "docker login": "docker login" + _WORDS % "-p" + rf"(?:-p|--password)[ =]{_VALUE}",
    "podman login": "podman login" + _WORDS % "-p" + rf"(?:-p|--password)[ =]{_VALUE}",
    "redis-cli": "redis-cli" + _WORDS % "-a" + rf"-a[ \t]*{_VALUE}",
    "sqlcmd": "sqlcmd" + _WORDS % "-P" + rf"(?-i:-P)[ \t]*{_VALUE}",
    "identified ": r"identified[ \t]+(?:with[ \t]+\S{1,64}[ \t]+)?by[ \t]+(?:password[ \t]+)?"
    r"""(?=["'])""" + _VALUE,
    "setx ": rf"setx[ \t]+(?P<name>\w{{1,80}})[ \t]+{_VALUE}",
    "machine ": rf"machine\s+\S{{1,256}}\s+login\s+\S{{1,256}}\s+password\s+{_VALUE}",  # netrc
}
_LONGEST = 400
"""Characters of a command up to its password, at most."""
_PATIENCE = 120
"""Characters of a command after which no more of a text in pieces is read to find its password."""
_SAMPLES = {"password", "passwd", "secret", "pass", "pw", "xxx", "to", "for", "and", "or", "the"}


@cache
def _pattern(word: str) -> re.Pattern[str]:
    return re.compile(_PATTERNS[word], re.IGNORECASE)


def read_command(search: Search, start: int) -> Found | None:
    """Returns the password in the command at an index, or None if there is none.

    Args:
        search: the search of the text.
        start: the index of the command's word.
    """
    text = search.text
    word = next(word for word in COMMANDS if text[start : start + 16].lower().startswith(word))
    match = _pattern(word).match(text, start, start + _LONGEST)
    if match is None:
        line = text[start : start + _PATIENCE]
        if len(line) < _PATIENCE and (word == "machine " or "\n" not in line):
            search.leave_open(start)
        return None
    if match.end() == len(text):
        search.leave_open(start)
    value, name = match["value"], match.groupdict().get("name")
    if is_example(value) or is_placeholder(value) or value.lower() in _SAMPLES:
        return None
    if word == "machine " and is_plain(value):
        return None  # a sentence
    if name is not None and not is_secret_name(name, variable=True):
        return None
    return Found(*match.span("value"), "password")
