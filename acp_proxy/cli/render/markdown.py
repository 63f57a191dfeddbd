"""Markdown that text of a recording cannot become part of, on GitHub and elsewhere.

On a line of ours, what comes from a recording stands in ``<code>``, with a character reference for
whatever could mean something in Markdown, HTML or on GitHub, or in a code span. Longer texts stand
in fences that are longer than any run of the same character in them. In either, control characters
and invisible ones are written as escapes.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence

from acp_proxy.safe_text import plain, visible

_SAFE = re.compile(r"[\w /.,=()%?!+;'-]", re.ASCII)
_INNER = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]")
_LINKED = re.compile(r"&#35;\d+|&#64;")
"""What GitHub makes a link of even so: numbers of issues, and names of users."""
_BACKTICKS = re.compile("`+")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_WRAPPED, _COLUMNS = 110, 100
"""The length from which on a line is wrapped, and to which."""


def code(text: str) -> str:
    """Writes text of a recording so that it stays text, also in a table; empty for none."""
    return f"<code>{escaped(text)}</code>" if text else ""


def code_span(text: str) -> str:
    """Writes text of a recording as a code span, for a line that is no table and no HTML."""
    text = plain(text)
    if not text.strip():
        return ""
    marks = "`" * (_longest_run(text) + 1)
    pad = " " if text[0] in "` " or text[-1] in "` " else ""
    return f"{marks}{pad}{text}{pad}{marks}"


def prose(text: str) -> str:
    """Writes a sentence of ours that has text of a recording in it."""
    return _LINKED.sub(r"<code>\g<0></code>", escaped(text))


def escaped(text: str) -> str:
    """Writes text without anything that Markdown, HTML or GitHub would interpret."""
    text = plain(text)
    return "".join(_escaped(text, at) for at in range(len(text)))


def fenced(text: str, language: str = "text", *, wrapped: bool = False) -> Iterator[str]:
    """Yields the lines of a fence with a text that cannot end it.

    Args:
        text: of a recording, of any length.
        language: a word of ours.
        wrapped: whether long lines are broken between words, but not those of code.
    """
    lines: Sequence[str] = _lines(text)
    if wrapped:
        lines = [*_wrap(lines)]
    fence = "`" * max(3, _longest_run(text) + 1)
    yield f"{fence}{language}"
    yield from lines
    yield fence


def _lines(text: str) -> list[str]:
    text = text.replace("\r\n", "\n").removesuffix("\n")
    return ["\t".join(map(visible, line.split("\t"))) for line in text.split("\n")]


def _wrap(lines: Sequence[str]) -> Iterator[str]:
    in_code = False
    for line in lines:
        in_code ^= _FENCE.match(line) is not None
        if in_code or len(line) <= _WRAPPED:
            yield line
        else:
            indent = " " * (len(line) - len(line.lstrip()))
            yield from textwrap.wrap(
                line, _COLUMNS, expand_tabs=False, replace_whitespace=False,
                subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
            )  # fmt: skip


def _longest_run(text: str) -> int:
    return max((len(run) for run in _BACKTICKS.findall(text)), default=0)


def _escaped(text: str, at: int) -> str:
    character = text[at]
    if character == "_" and _INNER.fullmatch(text[max(0, at - 1) : at + 2]) is None:
        return "&#95;"
    is_address = character in "wW" and text[at : at + 4].lower() == "www."
    if not is_address and (character.isalnum() or _SAFE.fullmatch(character)):
        return character
    return character if not character.isascii() else f"&#{ord(character)};"
