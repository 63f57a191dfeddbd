"""Reads values that have the name of a secret: `API_TOKEN=x`, `"password": "x"`, `--token x`."""

import re
from functools import lru_cache

from acp_proxy.redaction.names import kind_of_name
from acp_proxy.redaction.randomness import is_example, is_path, is_placeholder, is_random
from acp_proxy.redaction.search import (
    LONGEST_NAME,
    Found,
    Search,
    expressions,
    name_end,
    name_start,
)

_kind_of_name = lru_cache(maxsize=1024)(
    lambda name, variable: kind_of_name(name, variable=variable)
)


def read_assignment(search: Search, place: int) -> Found | None:
    """Returns the secret value of the name that contains a needle, or None if there is none.

    Args:
        search: the search of the text; the runs that are read are noted in it.
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
    seams = search.seams and [seam for seam in search.seams if start < seam <= place]
    for begin in (start, *seams):
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
        return Found(value_start, end, kind)
    before = text[max(0, start - 200) : start]
    if kind == "password" and match["operator"] == "=" and expressions().connection.search(before):
        return Found(value_start, end, kind)  # in the string that names a database
    if is_example(value) or (not is_quoted and text[end : end + 1] in ("(", "[", "{")):
        return None
    random = is_random(value) or (
        kind == "cookie" and any(is_random(part.partition("=")[2]) for part in value.split(";"))
    )
    return Found(value_start, end, kind) if random else None


def _value(search: Search, match: re.Match[str], kind: str, before: str) -> tuple[int, int, bool]:
    """Returns where the value of an assignment begins and ends, and whether it is quoted.

    A quotation mark that also stands before the name ends what began there, as in "set `token=` in
    the settings".
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
    """Whether the notation alone shows a secret: an option, a variable, a credential header."""
    if match["operator"] is None or name.startswith("-"):
        return True
    if match["operator"] == "=":
        return not match["spaces"] and not match["closing"]
    return match["operator"] == ":" and kind in ("credential", "cookie") and bool(match["scheme"])
