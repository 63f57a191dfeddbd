"""Which session and which value of one run is which of the other."""

from __future__ import annotations

from typing import Any

from tests.support.log_writer import notification, request, result, text
from tests.support.scenario_runs import IN, OUT, Run, compare


def talk(**sessions: list[str]) -> Run:
    """A run with sessions, each with its own words, one after the other."""
    made = Run(0)
    made.said = made.said[:2]
    for number, (session, words) in enumerate(sessions.items()):
        made.add(OUT, request(f"new-{number}", "session/new", cwd=made.cwd, mcpServers=[]))
        made.add(IN, result(f"new-{number}", sessionId=session))
        for said in words:
            update = {"sessionUpdate": "plan", "entries": [said]}
            made.add(IN, notification("session/update", sessionId=session, update=update))
    return made


def calls(*told: tuple[str, str, str]) -> Run:
    """A run with tool calls: the id, the title, and what came of each."""
    made = Run(0)
    for call, title, said in told:
        made.tell("tool_call", toolCallId=call, title=title, kind="execute")
        made.tell("tool_call_update", toolCallId=call, content=[text(said)])
    return made.end()


def aliases(a: Run, b: Run) -> dict[str, Any]:
    """What names stand for, in both."""
    return compare(a, b)[0].aliases


def test_sessions_with_equal_contents_are_paired_by_their_ids() -> None:
    """If they are called the same in both, in whatever order they began."""
    names = aliases(talk(one=["x"], two=["x"]), talk(two=["x"], one=["x"]))
    assert (names["session:1"], names["session:2"]) == (("one", "one"), ("two", "two"))


def test_sessions_with_most_in_common_are_paired() -> None:
    """Though neither says all the same, and both are called otherwise."""
    a = talk(one=["a", "b", "c"], two=["d", "e", "f"])
    b = talk(first=["d", "e", "other"], second=["a", "b", "another"])
    names = aliases(a, b)
    assert (names["session:1"], names["session:2"]) == (("one", "second"), ("two", "first"))


def test_values_are_paired_by_their_first_place() -> None:
    """Where they stood differs in all else, and so does their order."""
    a = calls(("a-1111111", "x", "1"), ("b-1111111", "y", "2"), ("c-1111111", "z", "3"))
    b = calls(("c-2222222", "z", "4"), ("b-2222222", "y", "5"), ("a-2222222", "x", "6"))
    names = aliases(a, b)
    for number, name in enumerate("abc"):
        assert names[f"call:{number + 1}"] == (f"{name}-1111111", f"{name}-2222222")


def test_values_are_paired_by_their_text() -> None:
    """Where they stood in nothing alike."""
    a = calls(("a-1111111", "x", "1"), ("b-1111111", "y", "2"))
    b = calls(("b-1111111", "v", "3"), ("a-1111111", "w", "4"))
    names = aliases(a, b)
    assert (names["call:1"], names["call:2"]) == (("a-1111111",) * 2, ("b-1111111",) * 2)
