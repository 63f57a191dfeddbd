"""`diff` recognizes generated values in keys, in texts, and in directories."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.diff.canonicalizer import Walk
from acp_proxy.diff.diff_result import Change, Counts
from acp_proxy.recording.filters import parse
from tests.support.log_writer import request, result, text
from tests.support.scenario_runs import IN, OUT, UUIDS, Run, compare, rules

ID = "0b5cf80e-5e1a-4c53-9f4c-2f7d3a1b6c0"


def _output(run: Run, output: Any, **fields: Any) -> Run:
    return run.tell("tool_call_update", toolCallId=run.call("a"), rawOutput=output, **fields).end()


# Keys


@pytest.mark.parametrize(
    "keys", [(f"{ID}1", f"{ID}2"), ("/home/a/project/x.py", "/home/a/other/x.py")]
)
def test_keys_that_are_different_values_stay_different_keys(keys: tuple[str, str]) -> None:
    """If the keys of an object are two ids or paths, `diff` reports a change of either's value."""

    def run(first: int, other: int) -> Run:
        made = Run(0)
        made.said[2] = (
            OUT,
            request(
                1,
                "session/new",
                cwd=made.cwd,
                additionalDirectories=["/home/a/other"],
                mcpServers=[],
            ),
        )
        return _output(made, {keys[0]: first, keys[1]: other})

    assert compare(run(1, 2), run(1, 2))[0].is_equal
    for change in (run(3, 2), run(1, 3)):
        result, (entry,) = compare(run(1, 2), change)
        assert result.counts == Counts(changed=1)
        assert len(entry.fields) == 1
        assert entry.fields[0].pointer.startswith("/params/update/rawOutput/«")


def test_keys_that_are_values_keep_their_order() -> None:
    """If keys of a JSON object are generated ids, `diff` pairs those of A and B in their order."""
    a, b = (_output(Run(n), {UUIDS[n]: 1, UUIDS[1 - n]: 2}) for n in (0, 1))
    assert compare(a, b)[0].is_equal


def test_a_rule_is_learned_for_keys_that_are_values() -> None:
    """If JSON keys are generated ids, `diff --learn` proposes a rule with `*` for the key."""
    a, b = (_output(Run(n), {UUIDS[n]: word}) for n, word in ((0, "a"), (1, "b")))
    learned = rules(a, b)
    assert (learned.ignored, learned.rest) == (("/params/update/rawOutput/*",), Counts())


def test_any_number_of_keys_may_be_values() -> None:
    """`diff` finds two JSON objects equal even if thousands of their keys are generated ids."""

    def run(number: int) -> Run:
        return _output(
            Run(number), {f"{number}b5cf80e-5e1a-4c53-9f4c-{n:012x}": n for n in range(3000)}
        )

    assert compare(run(0), run(1))[0].is_equal


# Tool calls


def _asked(number: int, *, parent_first: bool) -> Run:
    """Returns a run with two parallel tool calls that both name their parent call."""
    run = Run(number)
    meta = {"claude": {"parent": run.call("parent")}}
    run.tell("tool_call", toolCallId=run.call("parent"), title="Task", kind="think")
    for name in ("b", "c"):
        run.tell("tool_call", toolCallId=run.call(name), title=name, kind="execute", _meta=meta)
    names = ("b", "c") if parent_first else ("c", "b")
    for name in names:
        run.tell("tool_call_update", toolCallId=run.call(name), status="completed", _meta=meta)
    return run.end()


def test_calls_that_name_another_may_still_race() -> None:
    """`diff` ignores the order of parallel tool calls even if they name a parent call."""
    assert compare(_asked(0, parent_first=True), _asked(1, parent_first=False))[0].is_equal


def test_a_call_that_names_a_reading_call_is_not_a_reading_call() -> None:
    """`diff` reports if an edit's end and a read's start swap, even if the end mentions a read."""

    def run(number: int, *, is_done_first: bool) -> Run:
        made = Run(number)
        made.tell("tool_call", toolCallId=made.call("edit"), title="Edit", kind="edit")
        members: dict[str, Any] = {"toolCallId": made.call("edit"), "status": "completed"}
        reads = {"toolCallId": made.call("read"), "title": "Read", "kind": "read"}
        made.tell("tool_call", **reads)
        made.tell("tool_call_update", toolCallId=made.call("read"), status="completed")
        late = {**reads, "toolCallId": made.call("late")}
        steps = [("tool_call_update", {**members, "_meta": {"after": made.call("read")}})]
        steps.insert(1 if is_done_first else 0, ("tool_call", late))
        for kind, fields in steps:
            made.tell(kind, **fields)
        return made.end()

    counts = compare(run(0, is_done_first=True), run(1, is_done_first=False))[0].counts
    assert counts == Counts(moved=1)


def test_calls_still_race_when_one_kind_of_update_is_apart() -> None:
    """`diff` ignores the order of parallel tool calls, even with a rule `apart` for updates."""

    def run(number: int, *names: str) -> Run:
        made = Run(number)
        for name in names:
            made.tell("tool_call", toolCallId=made.call(name), title=name, kind="execute")
        for name in ("a", "b"):
            made.tell("tool_call_update", toolCallId=made.call(name), status="completed")
        return made.end()

    a, b = run(0, "a", "b"), run(1, "b", "a")
    for apart in ((), ("tool_call_update",), ("session/update",)):
        assert compare(a, b, apart=apart)[0].is_equal


@pytest.mark.parametrize("ids", [UUIDS, ("call_12345678", "call_87654321")], ids=["UUID", "other"])
def test_a_message_may_name_the_id_of_a_call_before_it_introduces_it(ids: tuple[str, str]) -> None:
    """If B updates a tool call before its start, `diff` reports the move, but no changed id."""

    def run(number: int, *, is_swapped: bool) -> Run:
        made, call = Run(number), ids[number]
        updates: list[tuple[str, dict[str, Any]]] = [
            ("tool_call", {"toolCallId": call, "title": "x"}),
            ("tool_call_update", {"toolCallId": call, "content": [text(f"done {call}")]}),
        ]
        for kind, fields in reversed(updates) if is_swapped else updates:
            made.tell(kind, **fields)
        return made.end()

    counts = compare(run(0, is_swapped=False), run(1, is_swapped=True))[0].counts
    assert counts == Counts(moved=1)


# Filters


@pytest.mark.parametrize(
    "words",
    [
        "method:session/update",
        "dir:to-client not method:session/update",
        "kind:notification",
        "dir:to-agent",
        "not method:session/new",
    ],
)
def test_frames_that_a_filter_leaves_out_still_introduce_values(words: str) -> None:
    """`diff` ignores a changed session directory even if a filter leaves out `session/new`."""

    def run(number: int, said: str) -> Run:
        made = Run(number)
        made.tell("tool_call", toolCallId=made.call("a"), title=f"Read {made.cwd}/x")
        made.add(IN, request(7, "session/request_permission", sessionId=made.session, x=said))
        made.add(OUT, result(7, said=f"{said} {made.call('a')} in {made.cwd}"))
        return made.words(f"{said} {made.call('a')}").end()

    chosen = parse(words)
    outcome = compare(run(0, "done"), run(1, "done"), chosen=chosen)[0]
    assert outcome.is_equal
    assert outcome.a.frames == outcome.b.frames < 10
    assert not compare(run(0, "done"), run(1, "failed"), chosen=chosen)[0].is_equal


# Rules


@pytest.mark.parametrize(
    "pointer",
    ["/params", "/params/update", "/params/update/content", "/params/update/content/text"],
)
def test_everything_below_an_ignored_place_is_left_out(pointer: str) -> None:
    """`diff` ignores everything below an ignored JSON pointer."""
    a = Run(0).words("one").tell("plan", entries=[]).words("two").end()
    b = Run(1).words("two").tell("plan", entries=[]).words("something else").end()
    assert not compare(a, b)[0].is_equal
    assert compare(a, b, ignored=(pointer,))[0].is_equal


def test_process_ids_are_recognized_in_texts_of_their_message() -> None:
    """`diff` ignores changed process ids, and texts of the same message that mention them."""

    def run(number: int) -> Run:
        pids = range(5000 + number * 777, 5300 + number * 777)
        return _output(Run(number), [{"pid": pid, "name": f"worker {pid} is up"} for pid in pids])

    assert compare(run(0), run(1))[0].is_equal


# Directories


def test_a_directory_may_be_half_a_character_short() -> None:
    """`diff` ignores a changed working directory even if its name contains half a character."""

    def run(number: int, said: str) -> Run:
        made = Run(number)
        made.cwd += "/\ud800x"
        params = {"cwd": made.cwd, "mcpServers": [], "additionalDirectories": ["C:\\\ud800"]}
        made.said[2] = (OUT, request(1, "session/new", **params))
        made.words(f"{said} {made.cwd}/y").end()
        made.said = [(stream, json.dumps(message)) for stream, message in made.said]
        return made

    assert compare(run(0, "wrote"), run(1, "wrote"))[0].is_equal
    assert compare(run(0, "wrote"), run(1, "read"))[0].counts == Counts(changed=1)


def test_a_directory_is_known_among_many() -> None:
    """`diff` ignores changed session directories in texts even if the agent lists 300 of them."""

    def run(number: int) -> Run:
        made = Run(number)
        listed = [{"sessionId": f"old-{n}", "cwd": f"/srv/{number}/p{n}"} for n in range(300)]
        made.said[2:2] = [
            (OUT, request("list", "session/list")),
            (IN, result("list", sessions=listed)),
        ]
        return made.words(f"wrote {made.cwd}/x and /srv/{number}/p299/y").end()

    assert compare(run(0), run(1))[0].is_equal


def test_each_side_has_its_own_limit_of_directories() -> None:
    """`diff` ignores changed session directories even if A and B have 900 of them each."""

    def run(number: int) -> Run:
        made = Run(number)
        below = [f"/srv/{number}/d{n}" for n in range(900)]
        params = {"cwd": made.cwd, "mcpServers": [], "additionalDirectories": below}
        made.said[2] = (OUT, request(1, "session/new", **params))
        return made.words(f"see {below[-1]}/x").end()

    assert compare(run(0), run(1))[0].is_equal


# What is nested too deeply


def test_a_chunk_that_is_nested_too_deeply_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """`diff` reports a changed text chunk even if its JSON is too deeply nested to compare."""
    canonical = Walk.canonical

    def shallow(self: Walk, message: Any, *rest: Any) -> Any:
        if "deep" in str(message):
            raise RecursionError
        return canonical(self, message, *rest)

    monkeypatch.setattr(Walk, "canonical", shallow)
    a, b = (
        Run(n).tell("agent_message_chunk", content=text("hi"), _meta={"deep": n}).end()
        for n in (0, 1)
    )
    result, entries = compare(a, b)
    assert not result.is_equal
    assert {change.change for change in entries} <= {Change.CHANGED, Change.ONLY_A, Change.ONLY_B}
