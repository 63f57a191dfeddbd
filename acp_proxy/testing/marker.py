"""Interprets the marker of a test: the files of its recordings, and the options of their replay.

A name without a slash is a file in the recordings directory. A name with a slash is relative to the
directory of the test's file. If the agent is started several times, the recordings are NAME.jsonl,
NAME.2.jsonl and so on.

A new option of the marker must also be added to `pytest_plugin` and to ``docs/testing.md``.
"""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

_SUFFIXES = (".jsonl", ".db")
_DIRECTORIES = ("recordings", "acp_recordings")
_VALUES = ("order", "timing", "idle_cap", "stall_timeout")
_SWITCHES = ("lenient", "inert", "allow_outside", "rewrite_text")
NAMES = (*_VALUES, *_SWITCHES, "ignore", "agent")
"""All options of the marker. The option ``agent`` is the command of an agent to record."""


class BadOption(Exception):
    """Raised when the marker has an unknown option, or an option with an invalid value."""


def default_name(module: Path, names: Sequence[str]) -> str:
    """Returns the default name of a test's recording, for a marker without a name.

    Args:
        module: the test's file.
        names: the names of the test's classes and of the test itself.
    """
    parts = [re.sub(r"^(test_|Test)", "", part) for part in (module.stem, *names)]
    return re.sub(r"[^\w.-]+", "-", "-".join(parts)).strip("-.") or "recording"


def recording_place(name: str, beside: Path, directory: Path | None) -> Path:
    """Returns the path of a recording, which need not exist.

    Args:
        name: the name or path.
        beside: the directory of the test's file.
        directory: the directory of recordings; None for ``recordings`` or ``acp_recordings`` beside
            the test's file.
    """
    if "/" in name:
        place = beside / name
    else:
        usual = (beside / word for word in _DIRECTORIES if (beside / word).is_dir())
        place = (directory or next(usual, beside / _DIRECTORIES[0])) / name
    if place.suffix in _SUFFIXES:
        return place
    every = [place.with_name(place.name + suffix) for suffix in _SUFFIXES]
    return next((path for path in every if path.is_file()), every[0])


def numbered(place: Path, number: int) -> Path:
    """Returns the path of the recording of one start of the agent.

    The path for the first start has no number.

    Args:
        place: the file of the first start.
        number: the number of the start, from 1.
    """
    return place if number == 1 else place.with_name(f"{place.stem}.{number}{place.suffix}")


def files_of(place: Path) -> list[Path]:
    """Returns the recordings of the agent's starts, in order, up to the first missing file."""
    files = (numbered(place, number) for number in itertools.count(1))
    return list(itertools.takewhile(Path.is_file, files))


def replay_arguments(options: Mapping[str, Any]) -> list[str]:
    """Turns the options of the marker into arguments of ``acp-proxy replay``.

    Raises:
        BadOption: an option is unknown.
    """
    arguments = []
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if name in _VALUES:
            arguments += [] if value is None else [flag, str(value)]
        elif name in _SWITCHES:
            arguments += [flag] if value else []
        elif name == "ignore":
            arguments += [word for pointer in strings(value) for word in (flag, pointer)]
        elif name != "agent":
            raise BadOption(f"acp_recording has no option {name!r}: expected {', '.join(NAMES)}")
    return arguments


def strings(value: Any) -> list[str]:
    """Returns the value of an option as a list of strings. A string becomes a list of one item.

    Raises:
        BadOption: the value is neither a string nor a list of strings.
    """
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable) or not all(isinstance(text, str) for text in value):
        raise BadOption(f"expected a string or a list of strings, got {value!r}")
    return list(value)
