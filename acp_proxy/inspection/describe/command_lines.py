"""Reads the command of a tool call, of a permission request or of a terminal as one line."""

import re
import shlex
from typing import Any

from acp_proxy.inspection.describe.values import Value

_COMMANDS = ("command", "cmd", "commandLine", "script")
_IN_QUOTES = re.compile(r'["\\$`]')
_MOST_WORDS = 1000
"""The most words of a command."""


def command_of(value: Value) -> str | None:
    """Returns the command line in an object, or None if it has none.

    It may be a command with or without ``args``, or a list of words.
    """
    for name in _COMMANDS:
        command = value.get(name)
        if isinstance(command, list):
            return _joined(command) or None
        if isinstance(command, str) and command:
            arguments = value.get("args")
            if not isinstance(arguments, list) or not arguments:
                return command
            # The command may itself be a line for a shell, so it is not quoted.
            return f"{command} {_joined(arguments)}"
    return None


def _joined(words: list[Any]) -> str:
    """Returns a shell command with these words, quoted if necessary."""
    return " ".join(_quoted(str(word)) for word in words[:_MOST_WORDS])


def _quoted(word: str) -> str:
    if "'" not in word:
        return shlex.quote(word)
    return '"' + _IN_QUOTES.sub(r"\\\g<0>", word) + '"'
