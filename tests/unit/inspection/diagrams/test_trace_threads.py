"""Slices begin on a thread on which they can end in the right order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acp_proxy.inspection.diagrams.trace_threads import FOREVER, Slice, Threads

if TYPE_CHECKING:
    from collections.abc import Iterable

    from acp_proxy.inspection.diagrams.trace_threads import Event


def shown(events: Iterable[Event]) -> list[str]:
    """Phase, thread and time of events, in nanoseconds; no names."""
    return [f"{e['ph']}{e['tid']}@{e['ts'] * 1000:.0f}" for e in events if e["ph"] != "M"]


def begin(threads: Threads, begun: Slice, at_ns: int) -> list[str]:
    """Begins a slice in the one group of these tests."""
    return shown(threads.begin(1, "group", begun, at_ns, {}))


def test_what_ends_before_is_nested() -> None:
    """In a slice that is known to end later, or that never ends."""
    threads, outer, inner = Threads(), Slice("outer", FOREVER), Slice("inner", 9)
    assert begin(threads, outer, 1) == ["B1@1"]
    assert begin(threads, inner, 2) == ["B1@2"]
    assert begin(threads, Slice("innermost", 9), 3) == ["B1@3"]
    assert shown(threads.end(inner, 9)) == ["E1@9", "E1@9"]
    assert shown(threads.end(inner, 9)) == []
    assert shown(threads.end_all(20)) == ["E1@20"]


def test_what_overlaps_has_a_thread_of_its_own() -> None:
    """Also where nobody knows when either ends."""
    threads = Threads()
    first, second, third = Slice("1", 5), Slice("2", 6), Slice("3")
    assert [*begin(threads, first, 1), *begin(threads, second, 2)] == ["B1@1", "B2@2"]
    assert begin(threads, third, 3) == ["B3@3"]
    assert begin(threads, Slice("4"), 3) == ["B4@3"]
    assert shown(threads.end(first, 5)) == ["E1@5"]
    assert begin(threads, Slice("5"), 6) == ["B1@6"]


def test_a_turn_ends_what_has_no_known_end() -> None:
    """So that the first tool call of a turn is within it, and the second beside it."""
    threads, turn = Threads(), Slice("turn", 9, ends_others=True)
    begin(threads, turn, 1)
    assert begin(threads, Slice("call"), 2) == ["B1@2"]
    assert begin(threads, Slice("call"), 3) == ["B2@3"]
    assert shown(threads.end(turn, 9)) == ["E1@9", "E1@9"]


def test_time_never_goes_back() -> None:
    """Whatever the times of a recording are."""
    threads, strange = Threads(), Slice("strange", -5)
    assert begin(threads, strange, 10) == ["B1@10"]
    assert shown(threads.end(strange, -5)) == ["E1@10"]
    assert begin(threads, Slice("next", 20), 3) == ["B1@10"]


def test_threads_have_names() -> None:
    """The first one that of its group, the others with a number."""
    threads = Threads()
    events = [*threads.begin(1, "s", Slice("a", 5), 1, {}),
              *threads.begin(1, "s", Slice("b", 6), 2, {})]  # fmt: skip
    assert [e["args"]["name"] for e in events if e.get("name") == "thread_name"] == ["s", "s, 2"]
    assert threads.get(1, "s")[1] == []
