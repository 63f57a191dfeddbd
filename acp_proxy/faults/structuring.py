"""Reads the TOML of a plan, and makes faults and triggers from its values.

A plan is small and flat, so the size and the nesting of its TOML are limited. The error about a
wrong value names the place and the reason. A text or a boolean does not count as a number.
"""

import math
import re
import tomllib
from collections.abc import Callable, Iterable
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import attrs
from attrs import field, frozen
from cattrs.errors import AttributeValidationNote, BaseValidationError

from acp_proxy.base.errors import BadPlan
from acp_proxy.base.forms import converter
from acp_proxy.base.limits import PLAN_FILE
from acp_proxy.base.plain_files import open_plain
from acp_proxy.base.wording import did_you_mean
from acp_proxy.faults.fault import BadSetting, at_least

T = TypeVar("T")
_SQLITE = b"SQLite format 3\0"
_MOST_PARTS = 50
"""The largest number of parts of a dotted key. The time and memory of `tomllib` grow with the
square of the number of parts."""
_PART = r"""(?:[\w-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w\\-])(?:{_PART}[ \t]*+\.[ \t]*+){{{_MOST_PARTS}}}")
"""Matches long dotted keys, even inside of strings. No valid plan needs strings of this form."""
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h)?")
_NS = {"ms": 10**6, None: 10**9, "s": 10**9, "m": 60 * 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}


class Window(NamedTuple):
    """A time window of the connection, in nanoseconds from its start."""

    begin: int
    end: int


@frozen
class Trigger:
    """The conditions under which a rule fires. Matches are counted per counter scope."""

    where: str = ""
    """The filter that chooses the frames that match; empty for every frame."""
    after: int = field(default=0, validator=at_least(0))
    """How many matches are skipped before the rule can fire."""
    every: int = field(default=1, validator=at_least(1))
    """Of the matches that are not skipped, the rule fires at the first, and then at every n-th."""
    times: int | None = field(default=None, validator=at_least(1))
    """The largest number of times that the rule fires."""
    probability: float = field(default=1.0, validator=at_least(0, 1))
    """The probability that the rule fires at a match that meets all other conditions."""
    window: Window | None = None
    """When frames can match: the start and the end, counted from the connection's start."""


class BadToml(ValueError):
    """Raised when a text is not TOML, or is too large; the message is the reason."""


class _Wrong(ValueError):
    """Raised when a value does not have the type of its setting."""


def read_toml(text: str) -> dict[str, Any]:
    """Reads TOML.

    Raises:
        BadToml: the text is not TOML, or its size, numbers, keys or nesting exceed the limits.
    """
    if len(text) > PLAN_FILE:
        raise BadToml(f"larger than {PLAN_FILE:,} bytes")
    if _LONG_KEY.search(text):
        raise BadToml(f"expected at most {_MOST_PARTS} words joined by dots in a key")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise BadToml("nested too deeply") from None
    except ValueError as e:  # a number with thousands of digits, for example
        reason = str(e).partition("; ")[0]
        raise BadToml(f"not TOML: {reason[:1].lower()}{reason[1:]}") from None


def read_toml_file(path: Path) -> dict[str, Any]:
    """Reads a file as TOML.

    Raises:
        BadToml: see `read_toml`; or the file is too large or not UTF-8.
        OSError: the file cannot be read or is not a plain file.
    """
    with open_plain(path) as file:
        data = file.read(PLAN_FILE + 1)
    if data.startswith(_SQLITE):
        raise BadToml("expected a plan, got a recording; for --fault alone, write '-' as the plan")
    if len(data) > PLAN_FILE:
        raise BadToml(f"larger than {PLAN_FILE:,} bytes")
    try:
        return read_toml(data.decode("utf-8").replace("\r\n", "\n"))
    except UnicodeDecodeError as e:
        raise BadToml(f"not TOML: {e}") from None


def structured(values: dict[str, Any], kind: type[T], place: str) -> T:
    """Makes a fault or a trigger.

    Args:
        values: the settings by name.
        kind: the class to make.
        place: the place of the settings in the plan, for error messages.

    Raises:
        BadPlan: a setting is wrong.
    """
    try:
        return _strict.structure(values, kind)
    except BaseValidationError as e:
        raise BadPlan(_message(e, place)) from None


def settings_of(kind: type) -> "dict[str, attrs.Attribute[Any]]":
    """Returns the settings of a kind, or of a trigger, by name."""
    return {setting.name: setting for setting in attrs.fields(kind)}


def default_of(setting: "attrs.Attribute[Any]") -> Any:
    """Returns the default of a setting; None if the setting has no default."""
    default = setting.default
    if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
        return default.factory()  # type: ignore[union-attr]
    return default


def changed_settings(part: Any) -> dict[str, Any]:
    """Returns the settings of a fault or a trigger that differ from their defaults."""
    values = ((s.name, getattr(part, s.name), default_of(s)) for s in attrs.fields(type(part)))
    return {name: value for name, value, default in values if value != default}


def hint(word: str, words: Iterable[str]) -> str:
    """Returns the end of an error message: the nearest valid word, or all valid words.

    Args:
        word: the invalid word.
        words: the valid words.
    """
    listed = sorted(words)
    return did_you_mean(word, listed) or f": expected one of {', '.join(listed)}"


def _message(error: BaseException, place: str) -> str:
    """Returns the first message of an error, with its place in the plan."""
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, AttributeValidationNote):
            place = f"{place}{note.name}"
    if isinstance(error, BaseValidationError):
        return _message(error.exceptions[0], place)
    if isinstance(error, BadSetting):
        return f"{place}{error.name}: {error.problem}"
    return f"{place}: {error}"


def _exactly(words: str) -> Callable[[Any, type], Any]:
    """Returns a hook that accepts values of exactly one type, and no values of its subclasses."""

    def structure(value: Any, kind: type) -> Any:
        if type(value) is kind:
            return value
        raise _Wrong(f"expected {words}, got {value!r}")

    return structure


def _text(value: Any, kind: type) -> Any:
    """Returns a setting's value as a text, or as a member of an enumeration."""
    if issubclass(kind, StrEnum):
        return _word(value, kind)
    return _exactly("a text")(value, kind)


def _number(value: Any, _: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise _Wrong(f"expected a number, got {value!r}")
    return float(value)


def _word(value: Any, kind: type[StrEnum]) -> StrEnum:
    words = [member.value for member in kind]
    if value in words:
        return kind(value)
    raise _Wrong(f"there is no {value!r}{hint(str(value), words)}")


def _table(value: Any, _: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong(f"expected a table, got {value!r}")
    return value


def _window(value: Any, _: Any) -> Window:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise _Wrong(f'expected a beginning and an end, such as ["2s", "10s"], got {value!r}')
    begin, end = map(_ns, value)
    if end <= begin:
        raise _Wrong(f"expected an end after the beginning, got {value!r}")
    return Window(begin, end)


def _ns(value: Any) -> int:
    match = _TIME.fullmatch(str(value))
    if match is None or isinstance(value, bool):
        raise _Wrong(f"expected a time such as 2s or 500ms, got {value!r}")
    return int(float(match[1]) * _NS[match[2]])


_strict = converter.copy()
_strict.register_structure_hook(bool, _exactly("true or false"))
_strict.register_structure_hook(int, _exactly("a whole number"))
_strict.register_structure_hook(str, _text)
_strict.register_structure_hook(float, _number)
_strict.register_structure_hook(Window, _window)
_strict.register_structure_hook_func(lambda kind: kind == dict[str, Any], _table)
