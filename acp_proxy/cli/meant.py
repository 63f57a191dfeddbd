"""Wrong words that people type for commands, options and values, each with a line that works.

In `meant.json`, each key is a ``COMMAND``, a ``COMMAND --option``, or a ``COMMAND --option value``,
and its value is the line. A ``*`` stands for any command, and ``-N`` for an option that is a
negative number.
"""

import json
from pathlib import Path

MEANT: dict[str, str] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
"""For each wrong command, option or value, a line that works."""


def meant(command: str, option: str = "", value: str = "") -> str:
    """Returns a hint with a line that works, to end a message with; empty if there is no such line.

    Args:
        command: the name of the command, without ``inspect``.
        option: the option as it was typed; empty for the command itself.
        value: the value of the option.
    """
    option = "-N" if option[1:].isdecimal() else option
    typed = (" ".join(filter(None, (name, option, value))) for name in (command, "*"))
    line = next((MEANT[words] for words in typed if words in MEANT), "")
    return line and f"; did you mean `{line}`?"
