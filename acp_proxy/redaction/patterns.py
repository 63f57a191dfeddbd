"""Finds secrets in free text: keys of providers, tokens, credentials, and values with such names.

Each thing that is looked for has a needle, a word that is always in it: the beginning of a key, the
name of a value, `://` of an URL. An automaton says where needles stand, and a reader looks at what
is there. So a text without needles, which is nearly all text, is left after one pass, and the
time for others grows with the number of needles and with nothing else: a reader follows a run of
characters only, and does not read the same run over and over (`_Search.may_read`).

What is recognized is deliberately not all that could be a secret. Text of a person or a file has
to look like one, since a recording with half of its words masked helps nobody. In text that a
program wrote about its own use (`loose`) a name is enough.
"""

import re
from base64 import b64decode
from binascii import Error
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple

from acp_proxy.redaction.key_formats import ALPHABETS, KeyFormat, key_formats
from acp_proxy.redaction.names import kind_of_name
from acp_proxy.redaction.needles import FORMS, NAMES, PLACES, beginnings, of_all_words
from acp_proxy.redaction.randomness import is_example, is_placeholder, is_random, is_varied

LONGEST = 1 << 14
"""Characters of a secret at most, as far as `tail` waits for its end."""
_RETRIES = 8
"""How many needles in one run of characters are looked at."""
_NAME_CHARACTERS = "-_.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LONGEST_NAME = 80


class Found(NamedTuple):
    """A secret in a text."""

    start: int
    end: int
    kind: str
    """`token`, `key`, `password`, `url`, `pem`, `jwt`, `cookie`, `credential` or `secret`."""


class _Patterns:
    """The regular expressions, compiled when the first needle is found."""

    def __init__(self) -> None:
        self.runs = {name: re.compile(pattern) for name, pattern in ALPHABETS.items()}
        self.jwt = re.compile(r"eyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*){1,3}", re.ASCII)
        self.open_jwt = re.compile(r"eyJ[\w-]*(?:\.[\w-]*){0,4}", re.ASCII)
        self.pem_header = re.compile(r"BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
        self.open_pem = re.compile(r"BEGIN ?[A-Z0-9 ]{0,60}-{0,5}")
        self.pem_body = re.compile(r"(?:[^-]|-(?!----))*+")
        self.base64_lines = re.compile(r"(?:[A-Za-z0-9+/=\s]|\\+[nr])*+")
        self.base64 = re.compile(r"[A-Za-z0-9+/=]{20}")
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
            r"""(?:[A-Za-z]{1,20}[ \t](?==))?"""  # the type, in `var token string = "..."`
            r"""(?P<operator>=>|:{1,3}=|[.?|+]=|[:=]=?|>\s{0,12}|,(?=[ \t]?\\*["'`]))"""
            r"""(?:[ \t]?[A-Za-z_]{1,20}[ \t]=(?=[ \t]))?"""  # the type, in `token: str = "..."`
            r"""(?P<spaces>[ \t]{0,4})|(?P<argument>[ \t]{1,4}|["'],[ \t]?(?=["'])))"""
            r"""(?P<quote>\\*["'`])?(?P<scheme>(?:bearer|basic|token|apikey)[ \t]{1,4})?""",
            re.IGNORECASE,
        )
        self.open_name = re.compile(  # what may stand between a name and its value, cut off
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
        self.escape = re.compile(r"(?:\\[nrt]?|%[0-9A-Fa-f]{0,2}|\x1b(?:\[[0-9;]*m?)?)$")
        self.before = re.compile(r"(?:\\[nrt]|%[0-9A-Fa-f]{2}|\x1b\[[0-9;]*m)$")


_patterns = cache(_Patterns)


class _Search:
    """One search of a text.

    Attributes:
        text: what is searched.
        loose: a name is enough.
        opened: places where something begins that the end of the text leaves open.
    """

    def __init__(self, text: str, *, loose: bool) -> None:
        self.text = text
        self.loose = loose
        self.opened: list[int] = []
        self._run_ends: dict[str, int] = {}
        self._tries: dict[str, int] = defaultdict(int)

    def may_read(self, run: str, start: int) -> bool:
        """Whether a run of characters from a place on is to be read.

        It is not if many needles in the same run were looked at already.
        """
        if start >= self._run_ends.get(run, 0):
            self._tries[run] = 0
            return True
        self._tries[run] += 1
        return self._tries[run] <= _RETRIES

    def have_read(self, run: str, start: int, end: int) -> None:
        """Notes how far a run was read, and that what begins there may go on after the text."""
        self._run_ends[run] = max(end, self._run_ends.get(run, 0))
        if end == len(self.text):
            self.leave_open(start)

    def leave_open(self, start: int) -> None:
        """Notes that what begins there may go on after the end of the text."""
        self.opened.append(start)

    def begins_word(self, start: int, *, joined: bool = False) -> bool:
        """Whether nothing of a word stands before a place; `joined`: dashes belong to words."""
        if start == 0:
            return True
        before = self.text[start - 1]
        in_word = before.isascii() and before.isalnum()  # Chinese has no spaces between words
        if not in_word and before != "+" and not (joined and before in "-_."):
            return True
        return _patterns().before.search(self.text[max(0, start - 12) : start]) is not None


_Reader = Callable[[_Search, int], Found | None]


class _Needle(NamedTuple):
    """A word that is in every secret of one form."""

    word: str
    exact: bool
    """In this case only."""
    read: _Reader | None
    """Looks at the text from the word on; None if it is for text that is not decoded yet."""


def find(text: str, *, loose: bool) -> list[Found]:
    """Finds the secrets in a text, in order and without overlaps.

    Only the secret itself: not `Bearer`, the name of the value, or the header of a PEM block.

    Args:
        text: any text, decoded.
        loose: it is an argument, a command, a URL or what a program reported, where the value of
            `--NAME value`, `--NAME=value` and `NAME=value` is secret whatever it is.
    """
    return _found(_Search(text, loose=loose))


def may_hold(line: bytes) -> bool:
    """Whether a line as it was read may have anything to mask; fast, and True when in doubt.

    Never False if `find` finds something in it or in a string of it, or if it may have a member
    whose name means a secret, or one named `env`, `headers`, `credentials` or `url`.
    """
    return of_all_words().are_in(line)


def _found(search: _Search) -> list[Found]:
    text, needles = search.text, _needles()
    found: list[Found] = []
    for number, start in of_all_words().places(text.encode("latin-1", "replace")):
        needle = needles[number]
        if needle.read is None or (needle.exact and not text.startswith(needle.word, start)):
            continue
        if one := needle.read(search, start):
            found.append(one)
    return _merged(sorted(found)) if len(found) > 1 else found


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
def _needles() -> tuple[_Needle, ...]:
    """Returns who reads what is found by each of `all_words`, in their order."""
    formats: dict[str, list[KeyFormat]] = defaultdict(list)
    for row in key_formats():
        formats[row.prefix.partition("/")[0]].append(row)
    return (
        *(_Needle(word, True, _key_reader(formats[word])) for word in beginnings()),
        *(_Needle(name, False, _read_assignment) for name in NAMES),
        *(_Needle(word, word in _EXACT, _READERS[word]) for word in FORMS),
        *(_Needle(word, False, None) for word in PLACES),
    )


def _key_reader(rows: list[KeyFormat]) -> _Reader:
    def read(search: _Search, start: int) -> Found | None:
        text = search.text
        for row in rows:
            if not text.startswith(row.prefix, start):
                if row.prefix.startswith(text[start : start + len(row.prefix)]):
                    search.leave_open(start)
                continue
            if not search.begins_word(start, joined=row.weak):
                continue
            if not search.may_read(row.alphabet, start):
                continue
            body = start + len(row.prefix)
            end = _patterns().runs[row.alphabet].match(text, body).end()  # type: ignore[union-attr]
            search.have_read(row.alphabet, start, end)
            length = end - body
            if length < row.least or (row.most is not None and length > row.most):
                continue
            if row.most is not None and text[end : end + 1].isalnum():
                continue
            value = text[body:end]
            if is_random(value) if row.weak else is_varied(value):
                return Found(start, end, "url" if "/" in row.prefix else _kind(row.prefix))
        return None

    return read


def _kind(prefix: str) -> str:
    return (
        "key" if "key" in prefix.lower() or prefix.startswith(("sk", "rk", "AK", "AI")) else "token"
    )


def _read_jwt(search: _Search, start: int) -> Found | None:
    if not search.begins_word(start) or not search.may_read("jwt", start):
        return None
    search.have_read("jwt", start, _patterns().open_jwt.match(search.text, start).end())  # type: ignore[union-attr]
    if token := _patterns().jwt.match(search.text, start):
        return Found(start, token.end(), "jwt")
    return None


def _read_pem(search: _Search, start: int) -> Found | None:
    text = search.text
    patterns = _patterns()
    header = patterns.pem_header.match(text, start)
    if header is None:
        opened = patterns.open_pem.match(text, start)
        if opened is not None and opened.end() == len(text):
            search.leave_open(start)
        return None
    body = header.end()
    end = patterns.pem_body.match(text, body).end()  # type: ignore[union-attr]
    if text[end : end + 9] != "-----END ":
        if end + 9 > len(text):
            search.leave_open(start)
        end = patterns.base64_lines.match(text, body).end()  # type: ignore[union-attr]
    elif text.find("-----", end + 9, end + 80) < 0 and len(text) < end + 80:
        search.leave_open(start)
    if patterns.base64.search(text, body, end) is None:
        return None
    return Found(body, end, "pem")


def _read_bearer(search: _Search, start: int) -> Found | None:
    if (value := _credential(search, start)) is None:
        return None
    text = search.text[slice(*value)]
    if is_random(text) if len(text) >= 16 or search.loose else False:
        return Found(*value, "token")
    return None


def _read_basic(search: _Search, start: int) -> Found | None:
    if (value := _credential(search, start)) is None:
        return None
    encoded = search.text[slice(*value)].rstrip("=")
    try:
        decoded = b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode()
    except (Error, ValueError):
        return None
    return Found(*value, "credential") if ":" in decoded and decoded.isprintable() else None


def _credential(search: _Search, start: int) -> tuple[int, int] | None:
    """Where the credential after the name of a scheme stands; None if there is none."""
    scheme = _patterns().scheme.match(search.text, start)
    if scheme is None:
        if not search.text[start + 5 : start + 12].strip("erER \t") and start + 12 > len(
            search.text
        ):
            search.leave_open(start)
        return None
    end = _patterns().credential.match(search.text, scheme.end()).end()  # type: ignore[union-attr]
    search.have_read("credential", start, end)
    return (scheme.end(), end) if end - scheme.end() >= 6 else None


def _read_user_info(search: _Search, start: int) -> Found | None:
    match = _patterns().user_info.match(search.text, start)
    if match is None:
        return None
    user, colon, password, at = match.groups()
    if not at:
        search.have_read("url", _scheme_start(search.text, start), match.end())
        return None
    part = 3 if colon else 1
    value = password if colon else user
    if not colon and not is_random(value):
        return None
    if is_placeholder(value) or (not search.loose and value.lower() in _SAMPLE_PASSWORDS):
        return None
    return Found(*match.span(part), "password")


def _read_curl_user(search: _Search, start: int) -> Found | None:
    """Reads `curl -u user:password`."""
    if not search.loose or "curl" not in search.text[max(0, start - 1000) : start]:
        return None
    match = _patterns().curl_user.match(search.text, start)
    if match is None:
        return None
    if match.end() == len(search.text):
        search.leave_open(start)
    return None if is_placeholder(match[1]) else Found(*match.span(1), "password")


_SAMPLE_PASSWORDS = {"password", "pass", "pw", "passwd", "pwd", "secret", "token"}


def _scheme_start(text: str, end: int) -> int:
    before = text[max(0, end - 16) : end]
    return end - len(before) + len(before.rstrip(_NAME_CHARACTERS + "+"))


def _read_assignment(search: _Search, place: int) -> Found | None:
    text = search.text
    start = _name_start(text, place)
    name_end = _name_end(text, place)
    if not search.may_read("name", start) or name_end - start > _LONGEST_NAME:
        search.have_read("name", start, name_end)
        return None
    search.have_read("name", start, name_end)
    if _patterns().open_name.fullmatch(text, name_end, name_end + 24) and name_end + 24 > len(text):
        search.leave_open(start)
    name = text[start:name_end]
    bare = name.lstrip("-.")
    variable = bare.isupper() or text[max(0, start - 1) : start] in ("?", "&")
    kind = kind_of_name(bare, variable=variable)
    if kind is None:
        return None
    match = _patterns().assignment.match(text, name_end)
    if match is None:
        return None
    if match.end() == len(text):
        search.leave_open(start)
    is_option = name.startswith("-")
    if match["operator"] is None and not (is_option and search.loose):
        return None
    value_start, end, is_quoted = _value(search, match, kind)
    if end == len(text):
        search.leave_open(start)
    value = text[value_start:end]
    if is_placeholder(value) or value.lower() == bare.lower():
        return None
    if search.loose and _is_certain(match, name, kind):
        return Found(value_start, end, kind)
    if is_example(value) or (not is_quoted and text[end : end + 1] in ("(", "[", "{")):
        return None
    random = is_random(value) or (
        kind == "cookie" and any(is_random(part.partition("=")[2]) for part in value.split(";"))
    )
    return Found(value_start, end, kind) if random else None


def _name_start(text: str, place: int) -> int:
    before = text[max(0, place - _LONGEST_NAME) : place]
    return place - len(before) + len(before.rstrip(_NAME_CHARACTERS))


def _name_end(text: str, place: int) -> int:
    there = text[place : place + _LONGEST_NAME + 1]
    return place + len(there) - len(there.lstrip(_NAME_CHARACTERS))


def _value(search: _Search, match: re.Match[str], kind: str) -> tuple[int, int, bool]:
    """Where the value of an assignment begins and ends, and whether it is quoted."""
    patterns = _patterns()
    start = match.end()
    quote = match["quote"]
    if quote is None and match["closing"] and kind == "cookie":
        pattern = patterns.line
    elif quote is None:
        header = kind == "cookie" and match["operator"] == ":"
        pattern = patterns.line if header else patterns.unquoted
    else:
        pattern = patterns.escaped if quote[0] == "\\" else patterns.quoted[quote]
    if not search.may_read("value", start):
        return start, start, False
    end = pattern.match(search.text, start).end()  # type: ignore[union-attr]
    search.have_read("value", match.start(), end)
    return start, end, quote is not None


def _is_certain(match: re.Match[str], name: str, kind: str) -> bool:
    """Whether a value is given as an option, a variable or a header that takes a secret."""
    if match["operator"] is None or name.startswith("-"):
        return True
    if match["operator"] == "=":
        return not match["spaces"] and not match["closing"]
    return match["operator"] == ":" and kind in ("credential", "cookie") and bool(match["scheme"])


_READERS: dict[str, _Reader] = {
    "eyJ": _read_jwt,
    "BEGIN ": _read_pem,
    "bearer": _read_bearer,
    "basic": _read_basic,
    "://": _read_user_info,
    "--user": _read_curl_user,
    " -u": _read_curl_user,
}
_EXACT = ("eyJ", "BEGIN ")


def tail(text: str) -> int:
    """Finds from which index on the end of a text may be the beginning of a secret.

    What is kept back is to be searched again together with what follows; until then only the text
    before the index may go on. Whatever the place where a text is cut, `find` then finds all that
    it finds in the whole text, with these exceptions: a cut after the first character of a key
    (`s` of `sk-`), after the first or second of a listed name or a scheme that stands alone (`to`
    of `token`), within `curl -u`, and in a secret that is longer than `LONGEST`. The index is
    never within a secret that `find` finds in the text and that ends before its end.

    Returns:
        The index; the length of the text if nothing at its end goes on in what follows.
    """
    if not ends_open(text) and not may_hold(text[-LONGEST:].encode("utf-8", "replace")):
        return len(text)
    search = _Search(text[-LONGEST:], loose=True)
    there = search.text
    found = _found(search)
    places = [*search.opened, *_partial(search)]
    ended = [one for one in found if one.end < len(there)]
    start = min(
        (place for place in places if not any(one.start < place < one.end for one in ended)),
        default=len(there),
    )
    # An escape before it tells that a word begins.
    if escape := _patterns().escape.search(there[max(0, start - 12) : start]):
        start -= len(escape[0])
    return len(text) - len(there) + start


def ends_open(text: str) -> bool:
    """Whether the end of a text without needles may be the beginning of a secret; fast.

    True when in doubt.
    """
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


_LONGEST_CUT = 24
_PART_OF_NAME = re.compile(r"[-_:\\%\x1b]|[a-z][A-Z].?$")
"""What may stand before the beginning of a part of a name; an escape; or the end of a scheme."""


def _endings() -> dict[str, tuple[str, ...]]:
    """Beginnings of needles by their last three characters; those of two by themselves."""
    exact, folded, _ = _beginnings()
    found: dict[str, list[str]] = defaultdict(list)
    for word in {word.lower() for word in exact | folded if len(word) > 1}:
        found[word[-3:]].append(word[-_LONGEST_CUT:])
    return {end: tuple(words) for end, words in found.items()}


def _partial(search: _Search) -> Iterator[int]:
    """Yields where the beginning of a needle stands that the end of the text cuts off."""
    text = search.text
    exact, folded, longest = _beginnings()
    for length in range(min(longest, len(text)), 0, -1):
        end = text[-length:]
        start = len(text) - length
        if length > 1 and end in exact and search.begins_word(start):
            yield start
        if end.lower() in folded and (length > 2 or _begins_part(text, start)):
            yield _name_start(text, start)
    if cut := _patterns().cut_name.search(text[-16:]):
        yield _name_start(text, len(text) - len(cut[0]))
    if cut := _patterns().cut.search(text[-24:]):
        yield len(text) - len(cut[0])


def _begins_part(text: str, start: int) -> bool:
    """Whether a part of a name begins at a place: `_T`, `-t`, or the `T` of `accessT`."""
    before = text[start - 1 : start]
    return before in ("_", "-") or (before.islower() and text[start].isupper())


@cache
def _beginnings() -> tuple[frozenset[str], frozenset[str], int]:
    """Beginnings of needles, those in any case apart, and how long the longest is."""
    words: dict[bool, set[str]] = {True: set(), False: set()}
    for needle in _needles():
        if needle.read is not None:
            beginnings = (needle.word[:end] for end in range(1, len(needle.word)))
            words[needle.exact].update(beginnings)
    longest = max(map(len, words[True] | words[False]))
    return frozenset(words[True]), frozenset(words[False]), longest


_ENDINGS = _endings()
