"""Finds where the messages of a log begin that other lines precede, as in the log of an editor.

A format is recognized by the beginning of an input. Where no message is there, names of members
that nearly every message has are searched for, which is quick, and what surrounds one is taken for
the beginning.
"""

import re
from collections.abc import Iterator

from acp_proxy.foreign_logs.values import HEAD

SEARCHED = 16 << 20
"""Bytes from the beginning of an input in which messages may begin."""
_SIGN = re.compile(rb"""["'](?:jsonrpc|method|result)\\?["']\s{0,9}:""")
_SURE = re.compile(rb"""["']jsonrpc\\?["']\s{0,9}:""")
_BEFORE = 4 << 10
"""Bytes before a sign in which its message, or a line that announces it, begins."""
_MOST = 10
"""Parts of each kind that are tried: logs of web servers have methods, too."""


def has_sign(text: bytes) -> bool:
    """Whether there may be a message in a text."""
    return _SIGN.search(text) is not None


def surroundings(beginning: bytes) -> Iterator[bytes]:
    """Yields parts of an input in which messages may begin, the likely ones first.

    Args:
        beginning: of the input.
    """
    yield from _around(_SURE, beginning)
    yield from _around(_SIGN, beginning)


def _around(name: re.Pattern[bytes], beginning: bytes) -> Iterator[bytes]:
    """Yields the first parts with a name, each of whole lines but for its end."""
    at = 0
    for _ in range(_MOST):
        sign = name.search(beginning, at)
        if sign is None:
            return
        line = beginning.rfind(b"\n", 0, sign.start()) + 1
        start = max(line - _BEFORE, at)
        if start > 0 and (newline := beginning.rfind(b"\n", 0, start)) >= 0:
            start = newline + 1
        at = sign.start() + HEAD
        if line - start > HEAD:
            start = line
        if sign.start() - line < HEAD:
            yield beginning[start:at]
