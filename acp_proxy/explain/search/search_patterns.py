"""The pattern of a search, and a quick test of whether a line can match it at all.

The exact test is a regular expression. A quick test comes first, since few lines match: it searches
the lower-case copy of a line for a fixed text.
"""

import re
import warnings
from collections.abc import Iterator

from acp_proxy.base.errors import BadPattern

_ESCAPED_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)+)(?:"|\Z)', re.DOTALL)
_ANY_STRING = re.compile(r'"([^"\\]*(?:\\.[^"\\]*)*)(?:"|\Z)', re.DOTALL)
ESCAPE = re.compile(r'\\(?:u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})'
                     r"|u([0-9A-Fa-f]{4})|(.))", re.DOTALL)  # fmt: skip
"""An escape in a JSON string: a surrogate pair, another code unit, or one character."""
_NAME = re.compile(
    r'"(?:jsonrpc|method|sessionUpdate|type)" *: *"[a-z0-9_/.]*"'  # what the protocol fixes
    r'|"([^"\\]*(?:\\.[^"\\]*)*)"( *:)?', re.DOTALL)  # fmt: skip
"""Matches a member whose value the protocol fixes, such as ``"method": "session/prompt"``, or the
name of any other member, or a string value."""
_LIKE_A_NAME = re.compile(r'["/_]|[a-z][A-Z]')
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_NO_ASSERTION = re.compile(r"\\[^AZ]"), re.compile(r"\[\^?[^\]]*\]?")
_ASSERTION = re.compile(r"[\^$]|\\[AZ]|\(\?<?[=!]")
_ODD_ESCAPE = re.compile(r"\\(?:[xuUN0-9]|\\)")
_ODD_RANGE = re.compile(r"[^a-z0-9]-|-[^a-z0-9]")
_LIKE_ASCII = frozenset("ıſK\u0130")
"""Characters that equal an ASCII letter when case is ignored."""


class Pattern:
    """A text or a regular expression to search for."""

    def __init__(
        self, text: str, *, is_regex: bool = False, ignore_case: bool | None = None
    ) -> None:
        """Prepares the search for a pattern.

        Args:
            text: the text or the regular expression.
            is_regex: whether ``text`` is a regular expression, in Python's syntax.
            ignore_case: whether to ignore case; None to ignore case unless ``text`` contains a
                capital letter.

        Raises:
            BadPattern: the text is empty, or is not a valid regular expression.
        """
        if not text:
            raise BadPattern("bad pattern: expected a text to search for, got an empty text")
        if ignore_case is None:
            ignore_case = not _has_capital(text, is_regex=is_regex)
        source = text if is_regex else re.escape(text)
        self.regex = _compiled(source, ignore_case=ignore_case)
        """The exact test. ``^`` and ``$`` match at the ends of lines."""
        self.length = 0 if is_regex else len(text.encode("utf-16-le", "surrogatepass")) // 2
        """The length of a fixed text in UTF-16 code units; 0 for a regular expression."""
        self.has_assertions = is_regex and _has_assertions(text)
        """Whether a match may depend on the ends of the text, or on the text around the match."""
        self.may_name = _LIKE_A_NAME.search(text) is not None
        """Whether names of members, methods and types are searched, too."""
        self._ignore_case = ignore_case
        self._needle = None
        if not is_regex and not (ignore_case and _LIKE_ASCII.intersection(text)):
            needle = text.lower() if ignore_case else text
            self._needle = needle.encode(errors="surrogatepass")
        self._needs_more_than_ascii = not is_regex and not text.isascii()
        self._folded = None
        if is_regex and ignore_case and _is_lower(text):
            self._folded = _compiled(source, ignore_case=False)

    def may_be_in(self, raw: bytes) -> bool:
        """Whether a line, or a string in it, may match. This is a quick test; `is_in` is exact."""
        if b"\\" in raw or self.has_assertions:
            return True
        needle = self._needle
        if needle is None:
            return self.is_in(raw.decode(errors="replace"))
        if not self._ignore_case:
            return needle in raw
        if not raw.isascii():
            return True
        return needle in raw.lower() and not self._needs_more_than_ascii

    def is_in(self, text: str) -> bool:
        """Whether a text contains a match of the pattern."""
        if self._ignore_case and text.isascii():
            if self._needle is not None:
                return not self._needs_more_than_ascii and self._needle in text.lower().encode()
            if self._folded is not None:
                return self._folded.search(text.lower()) is not None
        return self.regex.search(text) is not None


def escaped_strings(line: str) -> list[str]:
    """Decodes and returns the JSON strings in a line; only those that contain escapes."""
    return list(map(undone, _ESCAPED_STRING.findall(line)))


def strings(line: str) -> list[str]:
    """Returns all JSON strings in a line, decoded, including names of members."""
    return [undone(s) if "\\" in s else s for s in _ANY_STRING.findall(line)]


def values(line: str) -> Iterator[str]:
    """Yields the JSON strings in a line, decoded, without names of members, methods and types."""
    for match in _NAME.finditer(line):
        text, colon = match.groups()
        if text is not None and not colon:
            yield undone(text) if "\\" in text else text


def content_of(line: str) -> str:
    """Blanks out the names of members, methods and types in a line; keeps the line's length."""

    def blanked(match: re.Match[str]) -> str:
        is_content = match[1] is not None and not match[2]
        return match[0] if is_content else '""'.ljust(len(match[0]), "\0")

    return _NAME.sub(blanked, line)


def undone(text: str) -> str:
    """Replaces JSON escapes by the characters that they stand for."""
    return ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    high, low, unit, other = match.groups()
    if high:
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00)
    return chr(int(unit, 16)) if unit else _NAMED.get(other, other)


def _compiled(source: str, *, ignore_case: bool) -> re.Pattern[str]:
    flags = re.MULTILINE | (re.IGNORECASE if ignore_case else 0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(source, flags)
    except re.error as e:
        place = f" at column {e.pos + 1}" if e.pos is not None else ""
        raise BadPattern(f"bad pattern{place}: {e.msg}") from None
    except (OverflowError, RecursionError, MemoryError):
        raise BadPattern("bad pattern: it is too large") from None


def _has_assertions(pattern: str) -> bool:
    r"""Whether a pattern tests the ends of the text, or the text around a match.

    ``\b`` does not count: a word of a string begins and ends at the same places in the line.
    """
    for harmless in _NO_ASSERTION:
        pattern = harmless.sub("", pattern)
    return _ASSERTION.search(pattern) is not None


def _has_capital(text: str, *, is_regex: bool) -> bool:
    r"""Whether a pattern has a capital letter. Escapes (``\S``) and group names do not count."""
    return any(c.isupper() for c in (re.sub(r"\\.|\(\?P[<=]\w*", "", text) if is_regex else text))


def _is_lower(pattern: str) -> bool:
    """Whether ignoring case makes no difference when a pattern searches lower-case ASCII text."""
    if _has_capital(pattern, is_regex=True) or _ODD_ESCAPE.search(pattern):
        return False
    return "[" not in pattern or _ODD_RANGE.search(pattern) is None
