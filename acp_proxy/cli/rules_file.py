"""Files of comparison rules: what may differ between any two runs of a scenario."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from attrs import asdict, fields, frozen

from acp_proxy.base.limits import PLAN_FILE
from acp_proxy.base.plain_files import open_plain, reason
from acp_proxy.base.wording import did_you_mean

F = TypeVar("F", bound=Callable[..., Any])
_BAD_ESCAPE = re.compile(r"~(?![01])")
"""An escape that RFC 6901 does not allow in a JSON pointer."""


@frozen
class ComparisonRules:
    """The rules in a file of comparison rules.

    Attributes:
        ignore: JSON pointers to values that are not compared, with everything inside them.
        alias: JSON pointers to values that may differ, if each value of one recording always
            corresponds to the same value of the other recording.
        apart: kinds of session updates, and methods, whose order among other messages is ignored.
    """

    ignore: tuple[str, ...] = ()
    alias: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def toml(self) -> str:
        """The text of the file, in printable characters only."""
        lines: list[str] = []
        for name, values in asdict(self).items():
            if values:
                lines += [f"{name} = [", *(f"    {_quoted(value)}," for value in values), "]"]
        return "".join(f"{line}\n" for line in lines)


def rules_option(function: F) -> F:
    """Adds ``--rules``. The command gets the rules of the file as ``rules``; empty by default."""
    return click.option(
        "--rules", type=click.Path(path_type=Path), metavar="FILE", callback=_read,
        help="A TOML file of allowed differences: pointers to ignore, pointers to alias, and "
        "kinds whose order does not count.",
    )(function)  # fmt: skip


def pointers(_ctx: object, _param: object, value: tuple[str, ...]) -> tuple[str, ...]:
    """A click callback that checks the JSON pointers of an option."""
    try:
        return tuple(map(_pointer, value))
    except ValueError as e:
        raise click.BadParameter(str(e)) from None


def _read(_ctx: object, _param: object, path: Path | None) -> ComparisonRules:
    if path is None:
        return ComparisonRules()
    from acp_proxy.faults.structuring import read_toml  # late: few commands are given a file

    try:
        with open_plain(path) as file:
            values = read_toml(file.read(PLAN_FILE + 1).decode("utf-8"))
        return ComparisonRules(**{name: _checked(name, value) for name, value in values.items()})
    except OSError as e:
        raise click.BadParameter(f"cannot read {path}: {reason(e)}") from None
    except ValueError as e:
        raise click.BadParameter(f"{path}: {e}") from None


def _checked(name: str, value: Any) -> tuple[str, ...]:
    names = [field.name for field in fields(ComparisonRules)]
    if name not in names:
        near = did_you_mean(name, names) or f": expected {', '.join(names)}"
        raise ValueError(f"unknown key {name!r:.60}{near}")
    if not isinstance(value, list) or not all(isinstance(field, str) for field in value):
        raise ValueError(f"{name}: expected a list of strings, got {value!r:.60}")
    return tuple(map(_kind if name == "apart" else _pointer, value))


def _pointer(text: str) -> str:
    if not text.startswith("/") or _BAD_ESCAPE.search(text):
        expected = "expected one such as /params/prompt/0/text"
        raise ValueError(f"{text!r} is not a JSON pointer: {expected}")
    return text


def _kind(text: str) -> str:
    if not text or text.startswith("/"):
        expected = "expected a method or an update, such as fs/read_text_file or tool_call_update"
        raise ValueError(f"{text!r} is not a kind of message: {expected}")
    return text


def _quoted(text: str) -> str:
    """Writes a string as TOML. TOML forbids unpaired surrogates: each becomes a question mark."""
    return f'"{"".join(map(_escaped, text.encode(errors="replace").decode()))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08x}"
