"""Describes kinds, their settings and rules, and sums up how often the rules fired.

The description of a setting is the string below its field in the source code of the kind.
"""

import ast
import inspect
import textwrap
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import Any, get_args, get_type_hints

from attrs import frozen

from acp_proxy.faults.fault import BOTH, Fault
from acp_proxy.faults.plan import FaultRule, Plan
from acp_proxy.faults.structuring import Trigger, default_of, settings_of

_TYPES = {bool: "true or false", int: "whole number", float: "number", str: "text", dict: "table"}


@frozen
class Setting:
    """One setting of a kind, or of a trigger."""

    name: str
    type: str
    """The type in words."""
    default: Any
    """The default value; None if the setting has no default."""
    choices: tuple[str, ...]
    about: str


@frozen
class KindManual:
    """A description of a kind and its settings."""

    kind: str
    about: str
    directions: tuple[str, ...]
    settings: tuple[Setting, ...]


def manual_of(kind: type[Fault]) -> KindManual:
    """Returns the description of a kind and of its settings."""
    about = (inspect.getdoc(kind) or "").partition("\n")[0]
    directions = tuple(direction.value for direction in kind.directions)
    return KindManual(kind.kind, about, directions, _settings(kind))


def trigger_manual() -> tuple[Setting, ...]:
    """Describes the settings that decide when a rule fires."""
    return _settings(Trigger)


def _settings(kind: type) -> tuple[Setting, ...]:
    hints, texts = get_type_hints(kind), _texts(kind)
    return tuple(
        Setting(
            name=name,
            type=_type_of(name, hints[name]),
            default=default_of(setting),
            choices=_choices(hints[name]),
            about=texts.get(name, ""),
        )
        for name, setting in settings_of(kind).items()
    )


def sentence(rule: FaultRule) -> str:
    """Describes what a rule does and which frames it affects."""
    trigger = rule.trigger
    if trigger.where:
        which = f"a frame that matches {trigger.where}"
    elif rule.fault.directions == BOTH:
        which = "any frame"
    else:
        which = f"any frame {rule.fault.directions[0].value}"
    return f"{which} {rule.fault.describe()}{_conditions(trigger)}"


def summary(
    plan: Plan, fired: Mapping[str, int], seed: int, masked: Mapping[str, str]
) -> Iterator[str]:
    """Yields lines on how often each rule fired, and how to reproduce the faults.

    Args:
        plan: the rules.
        fired: how often each rule fired, by name.
        seed: the seed of all random numbers.
        masked: the text without secrets, by the original text, for each rule's name and place.
    """
    counts = ", ".join(f"{masked[name]} {_times(count)}" for name, count in fired.items() if count)
    yield f"faults: {counts or 'none fired'}"
    for rule in plan.rules:
        if not fired[rule.name]:
            yield f"warning: the fault {masked[rule.name]} never fired ({masked[rule.place]})"
    yield f"reproduce with --seed {seed}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


def _conditions(trigger: Trigger) -> str:
    """Returns the conditions of a trigger as the end of a sentence, beginning with ``;``."""
    parts = []
    if trigger.after:
        parts.append(f"the first {trigger.after} pass")
    if trigger.every > 1:
        parts.append(f"{'then ' if trigger.after else ''}one in {trigger.every}")
    if trigger.times is not None:
        parts.append("once" if trigger.times == 1 else f"at most {trigger.times} times")
    if trigger.probability < 1:
        parts.append(f"with a probability of {trigger.probability:g}")
    if trigger.window is not None:
        begin, end = (ns / 1e9 for ns in trigger.window)
        parts.append(f"from {begin:g} s to {end:g} s")
    return f"; {', '.join(parts)}" if parts else ""


def _type_of(name: str, kind: Any) -> str:
    inner = [get_arg for get_arg in get_args(kind) if get_arg is not type(None)]
    plain = inner[0] if inner and not getattr(kind, "__origin__", None) else kind
    plain = getattr(plain, "__origin__", plain)
    if name == "window":
        return "two times"
    if isinstance(plain, type) and issubclass(plain, StrEnum):
        return "word"
    return _TYPES.get(plain, "any value")


def _choices(kind: Any) -> tuple[str, ...]:
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return tuple(member.value for member in kind)
    return ()


@cache
def _texts(kind: type) -> dict[str, str]:
    """Returns the string below each field of a class and its base classes, by the field's name."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__[:-1]):
        try:
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(base))).body
        except (OSError, TypeError, SyntaxError, ValueError):  # there is no source
            continue
        name = ""
        for node in getattr(tree, "body", []):
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
            elif name and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                texts[name] = " ".join(str(node.value.value).replace("``", "`").split())
                name = ""
    return texts
