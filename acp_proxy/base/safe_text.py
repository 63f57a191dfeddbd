"""Makes recorded text safe to print: escapes invisible and control characters."""

import json
import re

from acp_proxy.base.limits import SHOWN_LINE

_EMOJI = "\u2600-\u27bf\U0001f000-\U0001faff"
_JOINED = re.compile(f"(?<=[{_EMOJI}\ufe0f])\u200d(?=[{_EMOJI}])")
"""The zero-width joiner within an emoji: the only invisible character that is kept."""
_UNSEEN = (
    "[\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Characters that are invisible or control a terminal, and may stand unescaped in JSON strings."""


def plain(text: str) -> str:
    """Makes text safe to print on one line, and cuts it to `SHOWN_LINE` characters."""
    text = text[:SHOWN_LINE]
    if text.isprintable():  # true for nearly every text
        return text
    return visible(text.replace("\r\n", "\n").replace("\t", " "))[:SHOWN_LINE]


def visible(text: str) -> str:
    """Writes control characters and invisible characters as escapes."""
    if text.isprintable():
        return text
    return "\u200d".join(map(_escaped, _JOINED.split(text)))


def _escaped(text: str) -> str:
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def visible_json(line: bytes) -> bytes:
    """Writes invisible characters in a line of JSON as escapes with the same meaning."""
    if line.isascii() and b"\x7f" not in line:
        return line
    text = line.decode()
    if text.isprintable():  # true for nearly every line, and faster to test
        return line
    return re.sub(_UNSEEN, _json_escape, text).encode()


def _json_escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"
