"""Which order is somebody's choice, and what has changed into what."""

from __future__ import annotations

from acp_proxy.difference.result import Counts
from tests.runs import IN, Run, compare
from tests.scribe import request


def test_calls_that_run_at_once_are_told_of_in_any_order() -> None:
    """Those that run one after the other are not."""

    def run(number: int, *told: str) -> Run:
        made = Run(number)
        for one in told:
            name, status = one.split()
            made.tell("tool_call_update", toolCallId=made.call(name), status=status, title=name)
        return made.end()

    at_once = run(0, "a begun", "b begun", "a done", "b done")
    assert compare(at_once, run(1, "b begun", "a begun", "b done", "a done"))[0].is_equal
    in_turn = run(0, "a begun", "a done", "b begun", "b done")
    assert compare(in_turn, run(1, "a begun", "b begun", "a done", "b done"))[0].counts == Counts(
        moved=1
    )


def reading(number: int, *told: str, kind: str = "read") -> Run:
    """A run with calls of a kind."""
    made = Run(number)
    for one in told:
        name, status = one.split()
        if name == "fs":
            params = {"sessionId": made.session, "path": f"{made.cwd}/{status}"}
            made.add(IN, request(f"{number}-{status}", "fs/read_text_file", **params))
            continue
        what = "tool_call" if status == "begun" else "tool_call_update"
        fields = {"kind": kind} if what == "tool_call" else {}
        made.tell(what, toolCallId=made.call(name), status=status, title=name, **fields)
    return made.end()


def test_what_is_only_looked_at_has_no_order() -> None:
    """Reads, searches and fetches, if nothing else is said in between; edits have one."""
    in_turn = ("a begun", "a done", "b begun", "b done")
    turned = ("b begun", "b done", "a begun", "a done")
    assert compare(reading(0, *in_turn), reading(1, *turned))[0].is_equal
    found, _ = compare(reading(0, *in_turn, kind="edit"), reading(1, *turned, kind="edit"))
    assert found.counts == Counts(moved=2)
    files = ("fs x", "fs y"), ("fs y", "fs x")
    assert compare(reading(0, *files[0]), reading(1, *files[1]))[0].is_equal


def test_a_file_is_not_read_before_the_call_that_reads_it() -> None:
    """Its end may overtake that of another one."""
    told = ("a begun", "fs x", "b begun", "a done", "fs y", "b done")
    early = ("fs x", "a begun", "b begun", "a done", "fs y", "b done")
    assert compare(reading(0, *told), reading(1, *early))[0].counts == Counts(moved=1)
    overtaken = ("a begun", "fs x", "b begun", "fs y", "a done", "b done")
    assert compare(reading(0, *told), reading(1, *overtaken))[0].is_equal


def test_two_changes_beside_what_is_repeated_are_two() -> None:
    """The one that is the same is the one between them."""

    def run(number: int, *told: str) -> Run:
        made = Run(number)
        for one in told:
            made.tell("plan", entries=[{"content": one[0]}], **({"x": 1} if one[1:] else {}))
        return made

    found, _ = compare(run(0, "p", "x", "x"), run(1, "q", "x", "x+"))
    assert found.counts == Counts(changed=2)


def test_a_call_that_is_gone_moves_no_names() -> None:
    """Others keep theirs, whatever their numbers are."""

    def calls(run: Run, *names: str) -> Run:
        for name in names:
            run.tell("tool_call", toolCallId=run.call(name), title="Run it")
        for name in names:
            run.tell("tool_call_update", toolCallId=run.call(name), title=name)
        return run.end()

    found, entries = compare(calls(Run(0), "a", "b", "c"), calls(Run(1), "b", "c"))
    assert found.counts == Counts(only_a=2)
    assert [entry.title.rpartition(" ")[2] for entry in entries] == [
        "tool_call",
        "tool_call_update",
    ]
