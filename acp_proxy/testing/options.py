"""Turns the options of the marker into arguments of ``acp-proxy replay``."""

from collections.abc import Iterable, Mapping
from typing import Any

_VALUES = ("order", "timing", "idle_cap", "stall_timeout")
_SWITCHES = ("lenient", "inert", "allow_outside", "rewrite_text")
NAMES = (*_VALUES, *_SWITCHES, "ignore", "agent")
"""Every option of the marker; ``agent`` is what to record from."""


class BadOption(Exception):
    """The marker has no such option, or it cannot have such a value."""


def replay_words(options: Mapping[str, Any]) -> list[str]:
    """Returns the arguments for options of the marker.

    Raises:
        BadOption: one is unknown.
    """
    words = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if name in _VALUES:
            words += [] if value is None else [flag, str(value)]
        elif name in _SWITCHES:
            words += [flag] if value else []
        elif name == "ignore":
            words += [word for pointer in listed(value) for word in (flag, pointer)]
        elif name != "agent":
            raise BadOption(f"acp_recording has no option {name!r}: expected {', '.join(NAMES)}")
    return words


def listed(value: Any) -> list[str]:
    """Returns one string or several as a list.

    Raises:
        BadOption: it is neither.
    """
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable) or not all(isinstance(one, str) for one in value):
        raise BadOption(f"expected a string or a list of strings, got {value!r}")
    return list(value)
