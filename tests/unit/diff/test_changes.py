"""`diff` compares an order only if a peer chose it, and pairs the items that have changed."""

from __future__ import annotations

import pytest

from acp_proxy.diff.diff_result import Change, Counts
from tests.support.log_writer import request
from tests.support.scenario_runs import IN, Run, compare


def telling(number: int, *told: str) -> Run:
    """Returns a run with tool calls. Each word pair, such as `a done`, is an update of a call."""
    made = Run(number)
    for step in told:
        name, status = step.split()
        made.tell("tool_call_update", toolCallId=made.call(name), status=status, title=name)
    return made.end()


def test_parallel_calls_may_be_reported_in_any_order() -> None:
    """`diff` ignores the order in which parallel tool calls begin and end."""
    at_once = ("a begun", "b begun", "a done", "b done")
    turned = ("b begun", "a begun", "b done", "a done")
    assert compare(telling(0, *at_once), telling(1, *turned))[0].is_equal


@pytest.mark.parametrize(
    ("first", "other"),
    [
        (("a begun", "a done", "b begun", "b done"), ("a begun", "b begun", "a done", "b done")),
        (("a begun", "b begun", "a done", "b done"), ("b begun", "b done", "a begun", "a done")),
    ],
)
def test_calls_that_run_in_parallel_on_one_side_only_have_an_order(
    first: tuple[str, ...], other: tuple[str, ...]
) -> None:
    """`diff` reports a difference if tool calls run in parallel in only one recording."""
    for a, b in ((first, other), (other, first)):
        result, _ = compare(telling(0, *a), telling(1, *b))
        assert (result.counts.moved > 0, result.counts.total) == (True, result.counts.moved)


def reading(number: int, *told: str, kind: str = "read") -> Run:
    """Returns a run with calls of a kind."""
    made = Run(number)
    for step in told:
        name, status = step.split()
        if name == "fs":
            params = {"sessionId": made.session, "path": f"{made.cwd}/{status}"}
            made.add(IN, request(f"{number}-{status}", "fs/read_text_file", **params))
            continue
        what = "tool_call" if status == "begun" else "tool_call_update"
        fields = {"kind": kind} if what == "tool_call" else {}
        made.tell(what, toolCallId=made.call(name), status=status, title=name, **fields)
    return made.end()


def test_calls_that_only_read_have_no_order() -> None:
    """`diff` ignores the order of tool calls that only read."""
    in_turn = ("a begun", "a done", "b begun", "b done")
    turned = ("b begun", "b done", "a begun", "a done")
    assert compare(reading(0, *in_turn), reading(1, *turned))[0].is_equal
    result, _ = compare(reading(0, *in_turn, kind="edit"), reading(1, *turned, kind="edit"))
    assert result.counts == Counts(moved=2)
    files = ("fs x", "fs y"), ("fs y", "fs x")
    assert compare(reading(0, *files[0]), reading(1, *files[1]))[0].is_equal


def test_a_file_is_not_read_before_the_call_that_reads_it() -> None:
    """`diff` reports a move if a file request comes before its tool call in only one recording."""
    told = ("a begun", "fs x", "b begun", "a done", "fs y", "b done")
    early = ("fs x", "a begun", "b begun", "a done", "fs y", "b done")
    assert compare(reading(0, *told), reading(1, *early))[0].counts == Counts(moved=1)
    overtaken = ("a begun", "fs x", "b begun", "fs y", "a done", "b done")
    assert compare(reading(0, *told), reading(1, *overtaken))[0].is_equal


def test_a_call_that_becomes_an_edit_is_not_a_reading_call() -> None:
    """If calls change their kind from `read` to `edit`, `diff` reports their changed order."""

    def run(number: int, *names: str, kinds: tuple[str, str]) -> Run:
        made = Run(number)
        for name in names:
            call = {"toolCallId": made.call(name), "title": name}
            made.tell("tool_call", **call, kind=kinds[0])
            made.tell("tool_call_update", **call, kind=kinds[1])
        return made.end()

    for kinds, moved in ((("read", "edit"), 2), (("edit", "read"), 0)):
        a, b = run(0, "a", "b", kinds=kinds), run(1, "b", "a", kinds=kinds)
        assert compare(a, b)[0].counts == Counts(moved=moved)


def test_differences_come_in_the_order_of_a() -> None:
    """`diff` lists changed, missing and moved items in the order of the frames in A."""
    a, b = Run(0), Run(1)
    for word in ("begin", "gone", "same", "one", "last", "moved", "late"):
        a.tell("x", word=word)
    for word in ("begin", "moved", "same", "new", "other", "last", "newer", "late"):
        b.tell("x" if word != "new" else "y", word=word)
    _, entries = compare(a.end(), b.end("refusal"))
    assert [(entry.change.value, entry.a, entry.b) for entry in entries] == [
        ("only-a", 7, None),
        ("changed", 9, 10),
        ("only-b", None, 9),
        ("moved", 11, 7),
        ("only-b", None, 12),
        ("changed", 13, 14),
    ]


def plans(number: int, *told: dict[str, int]) -> Run:
    """Returns a run with updates of one kind."""
    made = Run(number)
    for fields in told:
        made.tell("plan", **fields)
    return made.end()


def test_a_changed_item_is_paired_with_the_most_similar_one() -> None:
    """`diff` pairs a changed frame with the most similar frame of the other recording."""
    two, single = ({"a": 1, "b": 1}, {"a": 2, "b": 2}), {"a": 2, "b": 9}
    result, entries = compare(plans(0, *two), plans(1, single))
    assert result.counts == Counts(only_a=1, changed=1)
    assert [(entry.change, entry.a, entry.b) for entry in entries] == [
        (Change.ONLY_A, 6, None),
        (Change.CHANGED, 7, 6),
    ]
    assert [field.pointer for field in entries[1].fields] == ["/params/update/b"]
    result, entries = compare(plans(0, single), plans(1, *two))
    assert result.counts == Counts(only_b=1, changed=1)
    assert {(entry.change, entry.a, entry.b) for entry in entries} == {
        (Change.ONLY_B, None, 6),
        (Change.CHANGED, 6, 7),
    }


def test_several_changed_items_are_paired_in_order() -> None:
    """If several frames change, `diff` pairs the changed frames of A and B in their order."""
    a = plans(0, {"a": 1, "b": 1}, {"a": 2, "b": 2})
    b = plans(1, {"a": 7, "b": 7}, {"a": 1, "b": 8}, {"a": 9, "b": 2})
    result, entries = compare(a, b)
    assert result.counts == Counts(only_b=1, changed=2)
    assert {(entry.change, entry.a, entry.b) for entry in entries} == {
        (Change.ONLY_B, None, 6),
        (Change.CHANGED, 6, 7),
        (Change.CHANGED, 7, 8),
    }


def test_two_changes_next_to_repeated_items_are_two_changes() -> None:
    """If two updates of a plan change beside repeated ones, `diff` reports two changes."""

    def run(number: int, *told: str) -> Run:
        made = Run(number)
        for word in told:
            made.tell("plan", entries=[{"content": word[0]}], **({"x": 1} if word[1:] else {}))
        return made

    result, _ = compare(run(0, "p", "x", "x"), run(1, "q", "x", "x+"))
    assert result.counts == Counts(changed=2)


def test_a_missing_call_does_not_shift_the_names_of_others() -> None:
    """If B lacks the first of three tool calls, `diff` pairs the second and third with A's."""

    def calls(run: Run, *names: str) -> Run:
        for name in names:
            run.tell("tool_call", toolCallId=run.call(name), title="Run it")
        for name in names:
            run.tell("tool_call_update", toolCallId=run.call(name), title=name)
        return run.end()

    result, entries = compare(calls(Run(0), "a", "b", "c"), calls(Run(1), "b", "c"))
    assert result.counts == Counts(only_a=2)
    assert [entry.title.rpartition(" ")[2] for entry in entries] == [
        "tool_call",
        "tool_call_update",
    ]
