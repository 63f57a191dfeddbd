"""The combined matcher for rules of `diff` agrees with each single rule."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from acp_proxy.diff.place_rules import PlaceRule, compiled
from acp_proxy.protocol.json_text import parts_of, pointer

keys = st.sampled_from(["a", "b", "0", "c/d", "~"])
patterns = st.lists(st.sampled_from(["a", "b", "0", "c/d", "~", "*", "**"]), max_size=4)


def means(parts: tuple[str, ...], way: tuple[str, ...]) -> bool:
    """Whether a pattern of a JSON pointer matches a place, by the pattern's definition."""
    if not parts:
        return not way
    if parts[0] == "**":
        return any(means(parts[1:], way[count:]) for count in range(len(way) + 1))
    return bool(way) and parts[0] in ("*", way[0]) and means(parts[1:], way[1:])


@given(st.lists(st.tuples(patterns, st.booleans()), max_size=4), st.lists(keys, max_size=4))
@example([(["**", "a"], True), (["a", "*"], False)], ["a", "a"])
def test_compiled_rules_ignore_what_one_rule_ignores(
    drawn: list[tuple[list[str], bool]], way: list[str]
) -> None:
    """`diff` ignores a value exactly if a rule ignores the value or a member around it."""
    rules = [PlaceRule(pointer(parts), None if out else "name") for parts, out in drawn if parts]
    state = compiled(tuple(rules))
    for key in way:
        state = state[key]
    meant = [rule for rule in rules if means(parts_of(rule.pointer), tuple(way))]
    is_ignored = any(
        means(parts_of(rule.pointer), tuple(way[:count]))
        for rule in rules
        if rule.alias is None
        for count in range(len(way) + 1)
    )
    assert state.is_ignored == is_ignored
    if not is_ignored:
        assert state.alias == ("name" if any(rule.alias for rule in meant) else None)


@given(st.lists(st.text(max_size=5), max_size=4))
def test_a_pointer_is_read_as_it_was_written(parts: list[str]) -> None:
    """The rules of `diff` read the same keys from a JSON Pointer as were written into it."""
    assert parts_of(pointer(parts)) == tuple(parts)
