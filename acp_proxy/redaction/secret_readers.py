"""Reads secrets with a known form, such as provider keys, and values with secret names.

A reader gets the index of a needle, reads the text around this index, and returns the secret or
None. The needle of an assigned value is in its name, as in `API_TOKEN=x`, `"password": "x"` and
`--token x`. The needle of a password in a command is a word of the command.
"""

import re
from base64 import b64decode
from binascii import Error
from functools import cache, lru_cache

from acp_proxy.redaction.key_formats import KeyFormat
from acp_proxy.redaction.needles import COMMANDS
from acp_proxy.redaction.randomness import (
    is_example,
    is_path,
    is_placeholder,
    is_plain,
    is_random,
    is_varied,
)
from acp_proxy.redaction.secret_names import kind_of_name
from acp_proxy.redaction.text_search import (
    LONGEST_NAME,
    Reader,
    Search,
    SecretMatch,
    expressions,
    name_end,
    name_start,
    scheme_start,
)

_kind_of_name = lru_cache(maxsize=1024)(
    lambda name, variable: kind_of_name(name, variable=variable)
)


def read_assignment(search: Search, place: int) -> SecretMatch | None:
    """Returns the secret value assigned to the name at a needle; None if there is no secret.

    Args:
        search: the search of the text; it notes which runs of characters have been read.
        place: the index of the needle in the text.
    """
    text = search.text
    start = name_start(text, place)
    after = name_end(text, place)
    is_read = not search.may_read("name", start) or after - start > LONGEST_NAME
    search.have_read("name", start, after)
    if is_read:
        return None
    if after + 24 > len(text) and expressions().open_name.fullmatch(text, after):
        search.leave_open(start)
    for begin in (start, *search.seams_within(start, place)):
        name, start = text[begin:after], begin
        bare = name.lstrip("-.")
        variable = bare.isupper() or text[max(0, start - 1) : start] in ("?", "&")
        if kind := _kind_of_name(bare, variable):
            break
    else:
        return None
    match = expressions().assignment.match(text, after)
    if match is None:
        return None
    if match.end() == len(text):
        search.leave_open(start)
    is_option = name.startswith("-")
    if match["operator"] is None and not is_option:
        return None
    value_start, end, is_quoted = _value(
        search, match, kind, before=text[max(0, start - 8) : start]
    )
    if end == len(text):
        search.leave_open(start)
    value = text[value_start:end]
    if is_placeholder(value) or value.lower() == bare.lower():
        return None
    if kind == "password" and is_path(value):
        return None  # PWD, the directory
    if search.loose and _is_certain(match, name, kind):
        return SecretMatch(value_start, end, kind)
    before = text[max(0, start - 200) : start]
    if kind == "password" and match["operator"] == "=" and expressions().connection.search(before):
        return SecretMatch(value_start, end, kind)  # in a database connection string
    if is_example(value) or (not is_quoted and text[end : end + 1] in ("(", "[", "{")):
        return None
    random = is_random(value) or (
        kind == "cookie" and any(is_random(part.partition("=")[2]) for part in value.split(";"))
    )
    return SecretMatch(value_start, end, kind) if random else None


def _value(search: Search, match: re.Match[str], kind: str, before: str) -> tuple[int, int, bool]:
    """Returns the start and the end of an assigned value, and whether the value is quoted.

    If the same quotation mark is before the name and after the operator, it quotes the name and not
    the value, as in "set `token=` in the settings".
    """
    known = expressions()
    start = match.end()
    quote = match["quote"]
    if quote is not None and not match["closing"] and before.rstrip("?&").endswith(quote):
        quote = None
    if quote is None and match["closing"] and kind == "cookie":
        pattern = known.line
    elif quote is None:
        header = kind == "cookie" and match["operator"] == ":"
        pattern = known.line if header else known.unquoted
    else:
        pattern = known.escaped if quote[0] == "\\" else known.quoted[quote]
    if not search.may_read("value", start):
        return start, start, False
    end = pattern.match(search.text, start).end()  # type: ignore[union-attr]
    search.have_read("value", match.start(), end)
    return start, end, quote is not None


def _is_certain(match: re.Match[str], name: str, kind: str) -> bool:
    """Whether the notation alone marks a value as a secret.

    True for an option, a variable, and a header with an authentication scheme.
    """
    if match["operator"] is None or name.startswith("-"):
        return True
    if match["operator"] == "=":
        return not match["spaces"] and not match["closing"]
    return match["operator"] == ":" and kind in ("credential", "cookie") and bool(match["scheme"])


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
"""The largest number of characters of a command, including its password."""
_PATIENCE = 120
"""The most characters of an unfinished command that are kept until more text arrives."""
_SAMPLES = {"password", "passwd", "secret", "pass", "pw", "xxx", "to", "for", "and", "or", "the"}


@cache
def _command() -> re.Pattern[str]:
    return re.compile("|".join(_COMMANDS), re.IGNORECASE)


def read_command(search: Search, start: int) -> SecretMatch | None:
    """Returns the password in the command at an index; None if there is no password.

    Args:
        search: the search of the text.
        start: the index of the needle: a word of the command.
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
    return SecretMatch(*place, "password")


def key_reader(rows: list[KeyFormat]) -> Reader:
    """Returns a reader for the keys that begin with the same needle.

    Args:
        rows: the formats of these keys, sorted so that the longest prefix is first.
    """

    def read(search: Search, start: int) -> SecretMatch | None:
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
            end = expressions().runs[row.alphabet].match(text, body).end()  # type: ignore[union-attr]
            search.have_read(row.alphabet, start, end)
            most = row.most
            if most is not None and (end - body > most or text[end : end + 1].isalnum()):
                # A key of fixed length may end where a piece of the text ends.
                end = (search.seams_within(-1, body + most) or (body,))[-1]
            if end - body < row.least:
                continue
            value = text[body:end]
            if is_random(value) if row.weak else is_varied(value):
                return SecretMatch(start, end, "url" if "/" in row.prefix else _kind(row.prefix))
        return None

    return read


def _kind(prefix: str) -> str:
    return (
        "key" if "key" in prefix.lower() or prefix.startswith(("sk", "rk", "AK", "AI")) else "token"
    )


def _read_jwt(search: Search, start: int) -> SecretMatch | None:
    if not search.begins_word(start) or not search.may_read("jwt", start):
        return None
    search.have_read("jwt", start, expressions().open_jwt.match(search.text, start).end())  # type: ignore[union-attr]
    if token := expressions().jwt.match(search.text, start):
        return SecretMatch(start, token.end(), "jwt")
    return None


def _read_pem(search: Search, start: int) -> SecretMatch | None:
    text = search.text
    known = expressions()
    header = known.pem_header.match(text, start)
    if header is None:
        opened = known.open_pem.match(text, start)
        if opened is not None and opened.end() == len(text):
            search.leave_open(start)
        return None
    body = header.end()
    end = known.pem_body.match(text, body).end()  # type: ignore[union-attr]
    if text[end : end + 9] != "-----END ":
        if end + 9 > len(text):
            search.leave_open(start)
        end = known.base64_lines.match(text, body).end()  # type: ignore[union-attr]
    elif text.find("-----", end + 9, end + 80) < 0 and len(text) < end + 80:
        search.leave_open(start)
    if known.base64.search(text, body, end) is None:
        return None
    return SecretMatch(body, end, "pem")


def _read_bearer(search: Search, start: int) -> SecretMatch | None:
    if (value := _credential(search, start)) is None:
        return None
    text = search.text[slice(*value)]
    if is_random(text) if len(text) >= 16 or search.loose else False:
        return SecretMatch(*value, "token")
    return None


def _read_basic(search: Search, start: int) -> SecretMatch | None:
    if (value := _credential(search, start)) is None:
        return None
    encoded = search.text[slice(*value)].rstrip("=")
    try:
        decoded = b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode()
    except (Error, ValueError):
        return None
    return SecretMatch(*value, "credential") if ":" in decoded and decoded.isprintable() else None


def _credential(search: Search, start: int) -> tuple[int, int] | None:
    """Returns start and end of the credential after an authentication scheme, or else None."""
    scheme = expressions().scheme.match(search.text, start)
    if scheme is None:
        if not search.text[start + 5 : start + 12].strip("erER \t") and start + 12 > len(
            search.text
        ):
            search.leave_open(start)
        return None
    end = expressions().credential.match(search.text, scheme.end()).end()  # type: ignore[union-attr]
    search.have_read("credential", start, end)
    return (scheme.end(), end) if end - scheme.end() >= 6 else None


def _read_user_info(search: Search, start: int) -> SecretMatch | None:
    match = expressions().user_info.match(search.text, start)
    if match is None:
        return None
    user, colon, password, at = match.groups()
    if not at:
        search.have_read("url", scheme_start(search.text, start), match.end())
        return None
    part = 3 if colon else 1
    value = password if colon else user
    if not colon and not is_random(value):
        return None
    if is_placeholder(value) or (not search.loose and value.lower() in _SAMPLE_PASSWORDS):
        return None
    return SecretMatch(*match.span(part), "password")


def _read_curl_user(search: Search, start: int) -> SecretMatch | None:
    """Reads the password in a command such as `curl -u user:password`."""
    if not search.loose or "curl" not in search.text[max(0, start - 1000) : start]:
        return None
    match = expressions().curl_user.match(search.text, start)
    if match is None:
        return None
    if match.end() == len(search.text):
        search.leave_open(start)
    return None if is_placeholder(match[1]) else SecretMatch(*match.span(1), "password")


def _read_signature(search: Search, start: int) -> SecretMatch | None:
    """Reads the signature in a URL. The name `sig` is too short to be searched for elsewhere."""
    return read_assignment(search, start + 1)


def _read_telegram(search: Search, start: int) -> SecretMatch | None:
    """Reads the token of a Telegram bot; the bot's number must be before the token."""
    text, end = search.text, expressions().telegram.match(search.text, start).end()  # type: ignore[union-attr]
    if end == len(text):
        search.leave_open(start)
    is_over = not text[end : end + 1].isalnum() or bool(search.seams_within(end - 1, end))
    is_token = is_over and end == start + 36 and text[max(0, start - 8) : start].isdigit()
    return SecretMatch(start + 1, end, "token") if is_token else None


_SAMPLE_PASSWORDS = {"password", "pass", "pw", "passwd", "pwd", "secret", "token"}


READERS: dict[str, Reader] = {
    "eyJ": _read_jwt,
    "BEGIN ": _read_pem,
    "bearer": _read_bearer,
    "basic": _read_basic,
    "://": _read_user_info,
    "--user": _read_curl_user,
    " -u": _read_curl_user,
    "?sig=": _read_signature,
    "&sig=": _read_signature,
    ":AA": _read_telegram,
    **dict.fromkeys(COMMANDS, read_command),
}
"""The reader of each word in `FORMS`."""
EXACT = ("eyJ", "BEGIN ", ":AA")
"""The words in `FORMS` that are searched for in their exact case."""
