"""Reads the catalogue of rules: for each rule, who must follow it, in which dialects, and why.

``catalogue.json`` lists the rules, each with its places in the specification. It also lists the
rules that are not checked, each with the reason. The functions that find breaches are in `rules`. A
rule is chosen by its name (``rpc.id-reused``) or by the name of its group (``rpc``).
"""

from collections.abc import Collection, Iterable
from functools import cache
from pathlib import Path

import msgspec
from attrs import frozen

from acp_proxy.base.errors import NoSuchRule
from acp_proxy.base.wording import did_you_mean
from acp_proxy.check.check_values import Rule, UncheckedRules
from acp_proxy.explain.findings import CONVERSATION
from acp_proxy.protocol.dialects import V1
from acp_proxy.recording.recording import Origin

_ASKED_FOR = frozenset({"tool.no-progress"})
"""Rules that are checked only on request, because many healthy agents break them."""
_REASONS = {
    "start": "its beginning may be missing",
    "middle": "lines in between may be missing",
    "ending": "how it ended is not known",
    "bytes": "lines may have been spelled differently",
    "stderr": "lines on stderr are missing",
    "durations": "times are not known",
    "values": "some values are written alike",
    "texts": "its private texts are masked",
    "parts": "parts of messages were left out",
    "directions": "directions were inferred",
}
"""For each fact that an imported recording may lack: why rules that need this fact are not
checked."""


@frozen
class _Catalogue:
    rules: tuple[Rule, ...]
    left_out: dict[str, str]
    pages: dict[str, str]
    """The web addresses of the pages of the specifications, by the beginning of each page's
    title."""


@cache
def rules() -> dict[str, Rule]:
    """Returns the rules that can be checked, by id, in the order of the catalogue."""
    return {rule.id: rule for rule in _read().rules}


def left_out() -> dict[str, str]:
    """Returns the rules of the specification that are not checked, each with the reason."""
    return _read().left_out


def unchecked_rules(origin: Origin | None, *, is_private: bool = False) -> list[UncheckedRules]:
    """Returns the rules that cannot be checked, grouped by reason.

    An imported recording may lack lines. A rule cannot be checked if a missing line could be the
    cause of a breach.

    Args:
        origin: the origin of an imported recording; None for any other recording.
        is_private: whether private texts in the recording are masked.
    """
    unknown: set[str] = {"texts"} if is_private else set()
    unknown |= set() if origin is None else origin.unknown
    by_word: dict[str, list[str]] = {}
    for rule in rules().values():
        # An import by an earlier version may lack parts of messages, and any rule may need them.
        lost = set() if rule.lost_if is None else unknown & {*rule.lost_if, "parts"}
        if word := next((reason for reason in _REASONS if reason in lost), None):
            by_word.setdefault(word, []).append(rule.id)
    return [
        UncheckedRules(_REASONS[word], tuple(by_word[word])) for word in _REASONS if word in by_word
    ]


def chosen_rules(wanted: Collection[str], ignored: Collection[str]) -> frozenset[str]:
    """Returns the rules that are reported.

    Args:
        wanted: names of rules and groups; empty for all rules except `_ASKED_FOR`.
        ignored: names of rules and groups that are not reported.

    Raises:
        NoSuchRule: a name belongs to no rule and no group, or the rule is not checked.
    """
    chosen = frozenset(_named(wanted)) if wanted else frozenset(rules()) - _ASKED_FOR
    return chosen - frozenset(_named(ignored))


def looked_at(
    chosen: Collection[str], dialect: str | None, unchecked: Iterable[UncheckedRules] = ()
) -> list[str]:
    """Returns the rules that a recording was checked for, in the order of the catalogue.

    Args:
        chosen: the rules that are reported.
        dialect: the dialect of the recording; None for the rules of v1.
        unchecked: the rules that could not be checked.
    """
    from acp_proxy.check.rules import load  # imported late: loading the rules takes a while

    names = {rule.id for rule in rules().values() if rule.group in CONVERSATION} | load()
    names -= {name for part in unchecked for name in part.rules}
    return [
        rule.id
        for rule in rules().values()
        if rule.id in names and rule.id in chosen and (dialect or V1) in rule.dialects
    ]


def names() -> list[str]:
    """Returns all names of groups and rules."""
    return [*dict.fromkeys(rule.group for rule in rules().values()), *rules()]


def no_such_rule(name: str) -> NoSuchRule:
    """Returns the error for a name that belongs to no rule or group."""
    groups = ", ".join(dict.fromkeys(rule.group for rule in rules().values()))
    hint = did_you_mean(name, [*names(), *left_out()]) or f"; expected a rule, or a group: {groups}"
    return NoSuchRule(f"no rule is named {name!r}{hint}")


@cache
def _read() -> _Catalogue:
    return msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=_Catalogue)


def _named(words: Iterable[str]) -> Iterable[str]:
    for word in words:
        name = word.removesuffix(".*")
        if name in left_out():
            raise NoSuchRule(f"rule {name} is not checked: {left_out()[name]}")
        matches = [
            rule.id
            for rule in rules().values()
            if name == rule.id or (name == rule.group and rule.id not in _ASKED_FOR)
        ]
        if not matches:
            raise no_such_rule(word)
        yield from matches


def address_of(source: str) -> str | None:
    """Returns the web address of a place in a specification; None if it is unknown.

    Args:
        source: the place, in the words of the catalogue.
    """
    name = source.removeprefix("documentation today: ").removeprefix("documentation: ")
    return next((url for page, url in _read().pages.items() if name.startswith(page)), None)
