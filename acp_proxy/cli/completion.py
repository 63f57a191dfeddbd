"""Completion in bash, which takes ``:`` and ``=`` for the ends of words.

A filter such as ``kind:request`` arrives as three words, of which only the last is to be completed.
So the words are joined first, and each offer is reduced to the part that replaces the last word.
Other shells need no such help.
"""

import os
import re

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    split_arg_string,
)

_BREAKS = frozenset(":=")
_SPECIAL = re.compile(r"[\s'\"\\$&|;<>()*?`!#]")


class JoiningBashComplete(BashComplete):
    """Click's completion for bash, with the words that bash has split joined again."""

    _before = ""
    """What belongs to the current word and stands before what bash takes for it."""
    _is_quoted = False

    def get_completion_args(self) -> tuple[list[str], str]:
        """Returns the words before the current one, and that one as far as it is typed."""
        words = split_arg_string(text := os.environ["COMP_WORDS"])
        self._is_quoted = text.count('"') % 2 > 0 or text.count("'") % 2 > 0
        current = int(os.environ["COMP_CWORD"])
        whole, typed = joined(words[: current + 1])
        if current >= len(words):
            return whole[1:], ""
        last = whole.pop() if whole else ""
        self._before = last[: len(last) - len(typed)]
        return whole[1:], last

    def format_completion(self, item: CompletionItem) -> str:
        """Writes an offer as bash shall insert it."""
        before = self._before
        while before and not item.value.startswith(before):
            before = before[1:]
        value = item.value[len(before) :]
        if item.type == "plain" and not self._is_quoted:
            value = _SPECIAL.sub(r"\\\g<0>", value)
        return f"{item.type},{value}"


def joined(words: list[str]) -> tuple[list[str], str]:
    """Joins words that a colon or an equals sign has torn apart.

    Returns:
        the words, and of the last one what bash will replace.
    """
    whole: list[str] = []
    is_open = False
    for word in words:
        is_break = _BREAKS.issuperset(word)
        if whole and (is_open or is_break):
            whole[-1] += word
        else:
            whole.append(word)
        is_open = is_break
    return whole, "" if is_open or not words else words[-1]


def install() -> None:
    """Makes click use it."""
    add_completion_class(JoiningBashComplete)
