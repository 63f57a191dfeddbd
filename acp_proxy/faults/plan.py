"""A plan: a list of faults, each with the conditions under which it fires.

A plan comes from a TOML file, or from rules on the command line. Both use the same names of
settings. An invalid plan is refused with the place, the reason and the nearest valid word.

The random numbers of a rule depend on its name, or else on its settings, and never on its position
in the plan. So adding a rule does not change other rules.
"""

import hashlib
import json
import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from attrs import evolve, field, frozen

from acp_proxy.base.errors import BadFilter, BadPlan
from acp_proxy.base.plain_files import reason
from acp_proxy.faults.fault import Fault
from acp_proxy.faults.structuring import (
    BadToml,
    Trigger,
    changed_settings,
    hint,
    read_toml,
    read_toml_file,
    settings_of,
    structured,
)
from acp_proxy.protocol.json_text import storable
from acp_proxy.recording.filters import Filter, parse, terms_of

_MODULES = ("timing", "frames", "requests", "streams", "processes")
"""The modules in `kinds`, in the order of `faults list` and the manual."""


def _kinds_in(module: str) -> Iterator[type[Fault]]:
    """Yields the kinds that a module defines, in order, without base classes."""
    loaded = import_module(f"acp_proxy.faults.kinds.{module}")
    for value in vars(loaded).values():
        is_own = isinstance(value, type) and value.__module__ == loaded.__name__
        if is_own and issubclass(value, Fault) and hasattr(value, "kind"):
            yield value


KINDS: dict[str, type[Fault]] = {
    kind.kind: kind for module in _MODULES for kind in _kinds_in(module)
}


_UNKNOWN_THEN = {"latency": "an answer's latency", "seq": "a frame's number", "fault": "a fault",
                 "is": "what becomes of a frame"}  # fmt: skip
"""Filter terms that a rule cannot use, each with its meaning. Their values are not known yet when a
frame passes."""
_OF_PLAN = ("about", "seed", "fault")
_TRIGGERS = settings_of(Trigger)
_READY = Path(__file__).parent / "ready"


@frozen
class FaultRule:
    """One rule of a plan.

    Attributes:
        chosen: the filter of the frames that match, from `Trigger.where`.
        name: the given name, or else the kind. If several rules without a name have this kind, a
            hash of the settings is appended.
        key: the text that the rule's random numbers depend on.
        place: where the rule is in a file or on the command line, for error messages.
        is_named: whether the plan gives the name.
    """

    fault: Fault
    trigger: Trigger
    chosen: Filter = field(eq=False)
    name: str
    key: str
    place: str = field(eq=False)
    is_named: bool = False

    @property
    def kind(self) -> str:
        """The name of the kind."""
        return self.fault.kind


@frozen
class Plan:
    """Rules in order, and the seed of all random numbers."""

    rules: tuple[FaultRule, ...] = ()
    seed: int | None = None
    about: str = ""
    """One sentence about the plan."""


def load_plan(path: Path | str) -> Plan:
    """Reads a plan from a TOML file; ``@name`` is a plan that comes with this package.

    Raises:
        BadPlan: the plan cannot be read or has an error.
    """
    source = str(path)
    if source.startswith("@"):
        ready = ready_plans()
        if source[1:] not in ready:
            raise BadPlan(f"there is no ready plan {source}{hint(source[1:], ready)}")
        path = ready[source[1:]]
    try:
        value = read_toml_file(Path(path))
    except OSError as e:
        near = f"; did you mean @{source}?" if source in ready_plans() else ""
        raise BadPlan(f"cannot read {source}: {reason(e)}{near}") from None
    except BadToml as e:
        raise BadPlan(f"{source}: {e}") from None
    return structure_plan(value, source)


def ready_plans() -> dict[str, Path]:
    """The plans that come with the package, by their names."""
    return {path.stem: path for path in sorted(_READY.glob("*.toml"))}


def structure_plan(value: dict[str, Any], source: str) -> Plan:
    """Makes a plan from the contents of a TOML file.

    Args:
        value: the contents.
        source: the file's name, for error messages.

    Raises:
        BadPlan: the contents have an error.
    """
    for name in value:
        if name not in _OF_PLAN:
            raise BadPlan(f"{source}: unknown key {name!r:.60}{hint(name, _OF_PLAN)}")
    seed, about = value.get("seed"), value.get("about", "")
    if seed is not None and type(seed) is not int:
        raise BadPlan(f"{source}: seed: expected a whole number, got {seed!r:.60}")
    if seed is not None and not -(1 << 63) <= seed < 1 << 63:
        raise BadPlan(f"{source}: seed: expected a whole number of 64 bits, got {seed!r:.60}")
    if not isinstance(about, str):
        raise BadPlan(f"{source}: about: expected a text, got {about!r}")
    tables = value.get("fault", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadPlan(f"{source}: fault: expected tables that begin with [[fault]]")
    rules = [_rule(table, f"{source}: fault[{n}]", ".") for n, table in enumerate(tables)]
    return Plan(_named(rules), seed, about)


def parse_rule(text: str) -> FaultRule:
    """Reads a rule of the command line: the kind, then ``name=value`` words, split as by a shell.

    Raises:
        BadPlan: the rule has an error.
    """
    place = f"--fault {text!r}"
    if storable(text) != text:
        raise BadPlan(f"{place}: expected UTF-8")
    try:
        words = shlex.split(text)
    except ValueError as e:
        raise BadPlan(f"{place}: {str(e).lower()}") from None
    if not words:
        raise BadPlan(f"{place}: expected a kind, such as latency")
    table: dict[str, Any] = {"kind": words[0]}
    for word in words[1:]:
        name, is_setting, value = word.partition("=")
        if not is_setting:
            raise BadPlan(f"{place}: expected name=value, got {word!r}")
        if name in table:
            raise BadPlan(f"{place}: {name}: it is given twice")
        table[name] = _value(words[0], name, value)
    return _rule(table, place, ": ")


def joined(plans: Iterable[Plan], rules: Iterable[FaultRule], seed: int | None) -> Plan:
    """Joins plans, rules and a seed into one plan.

    Args:
        plans: plans, whose rules come first.
        rules: single rules, which come last.
        seed: the seed of the whole plan, if given.

    Raises:
        BadPlan: two given seeds differ, or two rules have the same name.
    """
    plans = list(plans)
    seeds = [s for s in (seed, *(plan.seed for plan in plans)) if s is not None]
    if other := [s for s in seeds if s != seeds[0]]:
        raise BadPlan(f"two seeds are given: {seeds[0]} and {other[0]}; expected one")
    every = [rule for plan in plans for rule in plan.rules] + list(rules)
    about = plans[0].about if len(plans) == 1 else ""
    return Plan(_named(every), seeds[0] if seeds else None, about)


def chosen_plan(rules: Iterable[str], plan: str | None, seed: int | None) -> tuple[Plan, int]:
    """Makes one plan from the options of the command line.

    Args:
        rules: the values of ``--fault``.
        plan: the value of ``--faults``, a file or ``@name``.
        seed: the value of ``--seed``; None to choose a seed.

    Raises:
        BadPlan: an option has an error.
    """
    plans = [load_plan(plan)] if plan is not None else []
    whole = joined(plans, [parse_rule(rule) for rule in rules], seed)
    chosen = int.from_bytes(os.urandom(4)) if whole.seed is None else whole.seed
    return whole, chosen


def _rule(table: dict[str, Any], place: str, joint: str) -> FaultRule:
    """Makes a rule. In error messages, ``joint`` stands between the place and the setting."""
    at = f"{place}{joint}"
    word = table.get("kind")
    if not isinstance(word, str):
        given = "nothing" if word is None else repr(word)
        raise BadPlan(f"{at}kind: expected a kind of fault, got {given}")
    if word not in KINDS:
        raise BadPlan(f"{at}kind: there is no {word!r}{hint(word, KINDS)}")
    settings = settings_of(KINDS[word])
    known = {"kind", "name", *_TRIGGERS, *settings}
    for name in table:
        if name not in known:
            raise BadPlan(f"{at}{name}: {word} has no such setting{hint(name, known)}")
    trigger = structured({n: v for n, v in table.items() if n in _TRIGGERS}, Trigger, at)
    fault = structured({n: v for n, v in table.items() if n in settings}, KINDS[word], at)
    name = table.get("name", word)
    if not isinstance(name, str) or not name:
        raise BadPlan(f"{at}name: expected a name, got {name!r}")
    is_named = "name" in table
    key = name if is_named else _content(fault, trigger)
    chosen = _chosen(trigger.where, f"{at}where")
    return FaultRule(fault, trigger, chosen, name, key, place, is_named)


def _chosen(where: str, place: str) -> Filter:
    try:
        for term in terms_of(where):
            if term in _UNKNOWN_THEN:
                raise BadPlan(
                    f"{place}: {term!r} cannot be used in a plan: {_UNKNOWN_THEN[term]} is not"
                    " known yet when a rule is applied"
                )
        return parse(where, None)
    except BadFilter as e:
        raise BadPlan(f"{place}: {e}") from None


def _value(kind: str, name: str, text: str) -> Any:
    """Returns a setting's value: the text read as TOML, or the text itself if it is not TOML."""
    settings = {"name": str, "where": str}
    if kind in KINDS:
        settings |= get_type_hints(KINDS[kind])
    if settings.get(name) in (str, str | None):
        return text
    if name == "window" and ".." in text:
        return text.split("..")
    try:
        return read_toml(f"value = {text}")["value"]
    except BadToml:
        return text


def _content(fault: Fault, trigger: Trigger) -> str:
    """Returns, as text, the settings of a rule that differ from their defaults."""
    changed = changed_settings(fault) | changed_settings(trigger)
    return f"{fault.kind} {json.dumps(changed, sort_keys=True)}"


def _named(rules: Iterable[FaultRule]) -> tuple[FaultRule, ...]:
    """Gives each rule a unique name and key. Raises `BadPlan` if two given names are equal."""
    rules = list(rules)
    owners: dict[str, FaultRule] = {}
    for rule in rules:
        if rule.is_named and (owner := owners.setdefault(rule.name, rule)) is not rule:
            raise BadPlan(
                f"{rule.place}: name: {rule.name!r} is also the name of {owner.place};"
                " expected another name"
            )
    kinds = Counter(rule.kind for rule in rules if not rule.is_named)
    named, twins = [], Counter[str]()
    for rule in rules:
        if rule.is_named:
            named.append(rule)
            continue
        content = _content(rule.fault, rule.trigger)
        twins[content] += 1
        name = rule.kind
        if kinds[name] > 1 or name in owners:
            name += f"-{hashlib.blake2b(content.encode(), digest_size=2).hexdigest()}"
        key = content
        if twins[content] > 1:
            name, key = f"{name}-{twins[content]}", f"{content} {twins[content]}"
        named.append(evolve(rule, name=name, key=key))
    return tuple(named)


def plan_text(plan: Plan, seed: int | None = None) -> str:
    """Returns a plan's rules and seed as TOML; a plan read from this TOML has the same rules.

    Args:
        plan: the plan.
        seed: the seed that was chosen for a plan without a seed.
    """
    number = plan.seed if plan.seed is not None else seed
    head = [f"seed = {number}\n"] if number is not None else []
    return "\n".join([*head, *("".join(_rule_lines(rule)) for rule in plan.rules)])


def _rule_lines(rule: FaultRule) -> Iterator[str]:
    yield f"[[fault]]\nkind = {_toml(rule.kind)}\n"
    if rule.is_named:  # the name and the draws of other rules follow from their settings
        yield f"name = {_toml(rule.name)}\n"
    for name, value in (changed_settings(rule.trigger) | changed_settings(rule.fault)).items():
        if name == "window":
            value = [f"{ns / 1e6:.6f}ms" for ns in value]
        yield f"{name} = {_toml(value)}\n"


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return _quoted(str(value)) if isinstance(value, str) else str(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
