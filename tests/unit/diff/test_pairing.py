"""`diff` pairs the sessions and values of one run with those of another."""

from __future__ import annotations

from typing import Any

from tests.support.log_writer import notification, request, result, text
from tests.support.scenario_runs import IN, OUT, Run, compare


def sessions(**words_of: list[str]) -> Run:
    """Returns a run with sessions one after the other, each with its own words."""
    made = Run(0)
    made.said = made.said[:2]
    for number, (session, words) in enumerate(words_of.items()):
        made.add(OUT, request(f"new-{number}", "session/new", cwd=made.cwd, mcpServers=[]))
        made.add(IN, result(f"new-{number}", sessionId=session))
        for said in words:
            update = {"sessionUpdate": "plan", "entries": [said]}
            made.add(IN, notification("session/update", sessionId=session, update=update))
    return made


def calls(*told: tuple[str, str, str]) -> Run:
    """Returns a run with tool calls: the id, the title and the outcome of each."""
    made = Run(0)
    for call, title, said in told:
        made.tell("tool_call", toolCallId=call, title=title, kind="execute")
        made.tell("tool_call_update", toolCallId=call, content=[text(said)])
    return made.end()


def aliases(a: Run, b: Run) -> dict[str, Any]:
    """Returns the names that `diff` gives to generated values, with the value in each run."""
    return compare(a, b)[0].aliases


def test_sessions_with_equal_contents_are_paired_by_their_ids() -> None:
    """If all sessions of A and B have equal contents, `diff` pairs the sessions with equal ids."""
    names = aliases(sessions(one=["x"], two=["x"]), sessions(two=["x"], one=["x"]))
    assert (names["session:1"], names["session:2"]) == (("one", "one"), ("two", "two"))


def test_sessions_with_most_in_common_are_paired() -> None:
    """If session ids differ, `diff` pairs the sessions that have most in common."""
    a = sessions(one=["a", "b", "c"], two=["d", "e", "f"])
    b = sessions(first=["d", "e", "other"], second=["a", "b", "another"])
    names = aliases(a, b)
    assert (names["session:1"], names["session:2"]) == (("one", "second"), ("two", "first"))


def test_values_are_paired_by_their_first_place() -> None:
    """If tool calls are in another order in B, `diff` pairs the ids of calls with equal titles."""
    a = calls(("a-1111111", "x", "1"), ("b-1111111", "y", "2"), ("c-1111111", "z", "3"))
    b = calls(("c-2222222", "z", "4"), ("b-2222222", "y", "5"), ("a-2222222", "x", "6"))
    names = aliases(a, b)
    for number, name in enumerate("abc"):
        assert names[f"call:{number + 1}"] == (f"{name}-1111111", f"{name}-2222222")


def test_values_are_paired_by_their_text() -> None:
    """If tool calls have changed titles but the same ids in B, `diff` pairs the equal ids."""
    a = calls(("a-1111111", "x", "1"), ("b-1111111", "y", "2"))
    b = calls(("b-1111111", "v", "3"), ("a-1111111", "w", "4"))
    names = aliases(a, b)
    assert (names["call:1"], names["call:2"]) == (("a-1111111",) * 2, ("b-1111111",) * 2)
