"""Writes a plan down as TOML that gives the same plan again."""

import json
from collections.abc import Iterator
from typing import Any

from acp_proxy.faults.plan import FaultRule, Plan
from acp_proxy.faults.structuring import changed_settings


def plan_text(plan: Plan, seed: int | None = None) -> str:
    """Returns a plan as the text of a file, which gives the same faults.

    Args:
        plan: the plan.
        seed: the seed that was chosen for a plan without one.
    """
    number = plan.seed if plan.seed is not None else seed
    head = [f"seed = {number}\n"] if number is not None else []
    return "\n".join([*head, *("".join(_lines(rule)) for rule in plan.rules)])


def _lines(rule: FaultRule) -> Iterator[str]:
    yield f"[[fault]]\nkind = {_value(rule.kind)}\n"
    if rule.is_named:  # else its name follows from its settings, as its draws do
        yield f"name = {_value(rule.name)}\n"
    for name, value in (changed_settings(rule.trigger) | changed_settings(rule.fault)).items():
        if name == "window":
            value = [f"{ns / 1e6:.6f}ms" for ns in value]
        yield f"{name} = {_value(value)}\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(k)} = {_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _text(str(value)) if isinstance(value, str) else str(value)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
