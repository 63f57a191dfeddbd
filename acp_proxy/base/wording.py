"""Makes recorded text safe to print, and writes counts, times and sizes for people.

Invisible and control characters of recorded text become escapes.
"""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from acp_proxy.base.limits import SHOWN_LINE

_EMOJI = "\u2600-\u27bf\U0001f000-\U0001faff"
_MARKDOWN = re.compile(
    r"(\b[A-Za-z]:\\\S*)|\*\*(\S[^*]*)\*\*|`+([^`]+)`+|(?:(?:\\r)?\\n *|^)+(?:(?:#{1,6}|>|[-*]) +)*"
)
"""Matches a Windows path, bold words or code in Markdown, or line breaks that are written as
escapes. Markdown marks at the start of the line after a break belong to the match."""
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


def in_one_line(prompt: str) -> str:
    """Returns a prompt as one line, without Markdown marks and without escaped line breaks."""
    text = _MARKDOWN.sub(lambda match: match[match.lastindex] if match.lastindex else " ", prompt)
    return " ".join(text.split())


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


_DAY = 86400
_S = 10**9
_ALIKE = 0.6
"""The least similarity, from 0 to 1, between the user's word and a known word that is suggested."""


def counted(count: int, noun: str) -> str:
    """Writes a number with its noun, such as ``1,200 frames``.

    Args:
        count: the number.
        noun: the noun in the singular; its plural must end in s.
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def numbered(seqs: Sequence[int]) -> str:
    """Formats the numbers of at most three frames, such as ``#1, #2, #3, ...``."""
    return ", ".join(f"#{seq}" for seq in seqs[:3]) + (", ..." if len(seqs) > 3 else "")


def named_cancels(seqs: Sequence[int]) -> str:
    """Writes the frames that cancel a turn, such as ``2 cancels (#1, #2)``."""
    return f"{counted(len(seqs), 'cancel')} ({numbered(seqs)})"


def listed(words: Sequence[str], most: int) -> str:
    """Writes the first words of a list and how many words follow them: ``a, b and 3 more``.

    Args:
        words: all words of the list.
        most: the largest number of words to write.
    """
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def without_middle(text: str, most: int) -> str:
    """Cuts the middle out of a long text, since the end of an error often contains the reason.

    Args:
        text: the text.
        most: the largest number of characters of the result, including the ellipsis.
    """
    end = most // 2
    return text if len(text) <= most else f"{text[: most - end - 1]}…{text[len(text) - end :]}"


def share(part: int, whole: int) -> str:
    """Writes the size of a part as a percentage of a whole; less than half a percent is ``<1%``.

    Args:
        part: the size of the part.
        whole: the size that counts as 100%; not 0.
    """
    return f"{part / whole:.0%}" if part * 200 >= whole else "<1%"


def seconds(t_ns: int | None) -> str:
    """Writes a time since the start in seconds with three decimals; empty for None.

    Args:
        t_ns: the time in nanoseconds.
    """
    return "" if t_ns is None else f"{t_ns / 1e9:.3f}"


def duration(ns: int | None, step_ns: int = 0) -> str:
    """Writes a duration in a suitable unit; empty for None.

    Args:
        ns: the duration in nanoseconds.
        step_ns: the resolution of the measurement in nanoseconds; 0 if the resolution is so fine
            that it does not matter.
    """
    if ns is None:
        return ""
    if ns < step_ns:
        return f"<{step(step_ns)}"
    if step_ns >= _S and ns < 120 * _S:
        return f"{ns // _S} s"
    if ns < 1_000_000:
        return f"{ns / 1e3:.0f} µs" if ns >= 1_000 else "<1 µs"
    if ns < 1_000_000_000:
        return f"{ns / 1e6:.0f} ms"
    if ns < 120 * 10**9:
        return f"{ns / 1e9:.1f} s"
    minutes, rest = divmod(ns // 10**9, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def step(ns: int) -> str:
    """Writes a resolution, given in nanoseconds, as a whole number of the largest possible unit."""
    for unit, name in ((_S, "s"), (10**6, "ms"), (10**3, "µs")):
        if ns % unit == 0:
            return f"{ns // unit} {name}"
    return f"{ns} ns"


def byte_size(count: int | None) -> str:
    """Writes a number of bytes in a suitable unit; empty for None."""
    if count is None:
        return ""
    for limit, unit in ((10**3, "B"), (10**6, "kB"), (10**9, "MB")):
        if count < limit:
            number = count * 1000 / limit
            is_whole = unit == "B" or number >= 100
            return f"{number:.0f} {unit}" if is_whole else f"{number:.1f} {unit}"
    return f"{count / 1e9:.1f} GB"


def when(started: datetime, now: datetime) -> str:
    """Writes how long ago a time was.

    A time that is in the future, or at least a week ago, is written as a date.

    Args:
        started: the time, with a time zone.
        now: the current time, with a time zone.
    """
    past = (now - started).total_seconds()
    if past < 0 or past >= 7 * _DAY:
        return f"{started.astimezone():%Y-%m-%d}"
    if past < 60:
        return "just now"
    for unit, name in ((_DAY, "d"), (3600, "h"), (60, "min")):
        if past >= unit:
            return f"{int(past // unit)} {name} ago"
    return ""


def nearest(word: str, words: Iterable[str]) -> str:
    """Returns the known word that the user probably meant; empty if no known word is near.

    The most similar known word is chosen. If no known word is similar enough, but exactly one
    known word begins with the user's word, that known word is chosen.

    Args:
        word: the word that the user wrote.
        words: the known words.
    """
    from difflib import get_close_matches  # late: only needed after a mistake

    choices = list(dict.fromkeys(words))
    if near := get_close_matches(word, choices, 1, _ALIKE):
        return near[0]
    beginning = [choice for choice in choices if word and choice.startswith(word)]
    return beginning[0] if len(beginning) == 1 else ""


def did_you_mean(word: str, words: Iterable[str]) -> str:
    """Returns a suffix for an error message that suggests a word; empty if no word is near.

    Args:
        word: the word that the user wrote.
        words: the known words.
    """
    near = nearest(word, words)
    return f"; did you mean {near}?" if near else ""
