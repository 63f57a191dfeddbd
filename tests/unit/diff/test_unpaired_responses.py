"""`diff` compares each request together with its answer, whatever its id is."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.diff.diff_result import Change, Counts, Expect
from tests.support.log_writer import error, notification, request, result
from tests.support.scenario_runs import IN, OUT, Run, compare


def test_a_request_is_no_notification() -> None:
    """If a request of one recording is a notification in the other, `diff` reports both."""
    params = {"sessionId": Run(0).session, "x": 1}
    a, b = (
        Run(0).add(IN, notification("x/y", **params)),
        Run(0).add(IN, request(9, "x/y", **params)),
    )
    assert compare(a, b)[0].counts == Counts(only_a=1, only_b=1)


def test_a_request_that_is_cancelled_has_any_number() -> None:
    """If a notification cancels a request, `diff` ignores that the request's id differs."""

    def run(number: int) -> Run:
        made = Run(number).add(OUT, notification("$/cancel_request", requestId=number + 7))
        made.tell("tool_call_update", toolCallId=made.call("a"), rawOutput={"pid": 7 + number * 99})
        return made.words("exit code 7 of 8").end()

    assert compare(run(0), run(1))[0].is_equal


def asking(number: int, *answers: str) -> Run:
    """Returns a run with two permission requests, which are answered in the given order."""
    made = Run(number)
    for place, name in enumerate(("remove", "list")):
        call = {"toolCallId": made.call(name), "title": name}
        asked = {"sessionId": made.session, "toolCall": call, "options": []}
        made.add(IN, request(f"{number}-{place}", "session/request_permission", **asked))
    for answer in answers:
        option, which = answer.split()
        outcome = {"outcome": "selected", "optionId": option}
        made.add(OUT, result(f"{number}-{which}", outcome=outcome))
    return made.end()


@pytest.mark.parametrize("expect", [Expect.FRAMES, Expect.STRUCTURE])
def test_an_answer_belongs_to_its_request(expect: Expect) -> None:
    """If the answers to two permission requests are swapped, `diff` reports both answers."""
    a = asking(0, "allow 0", "reject 1")
    assert compare(a, asking(1, "allow 0", "reject 1"), expect=expect)[0].is_equal
    result, entries = compare(a, asking(1, "allow 1", "reject 0"), expect=expect)
    assert result.counts == Counts(changed=2)
    assert [field.pointer for entry in entries for field in entry.fields] == ["/id", "/id"]


def test_the_missing_one_of_two_equal_answers_is_reported() -> None:
    """If A has two equal answers and B has only one of them, `diff` reports the missing answer."""
    _, (entry,) = compare(asking(0, "allow 0", "allow 1"), asking(1, "allow 1"))
    assert (entry.change, entry.a) == (Change.ONLY_A, 8)


def test_a_cancellation_of_another_request_is_reported() -> None:
    """`diff` reports that another request is cancelled, but not a mere change of its id."""

    def run(number: int, place: int) -> Run:
        made = asking(number)
        return made.add(IN, notification("$/cancel_request", requestId=f"{number}-{place}"))

    assert compare(run(0, 1), run(1, 1))[0].is_equal
    _, (entry,) = compare(run(0, 1), run(1, 0))
    assert [field.pointer for field in entry.fields] == ["/params/requestId"]


def test_a_refusal_is_no_answer() -> None:
    """If a result in A is an error in B, `diff` reports both as one change."""
    b = Run(1).add(IN, error(2, -32603, "no"))
    _, (entry,) = compare(Run(0).end(), b)
    assert [(field.pointer, field.only) for field in entry.fields] == [
        ("/result", "a"),
        ("/error", "b"),
    ]


def test_equal_requests_are_paired_by_their_order() -> None:
    """`diff` pairs equal requests of A and B in the order in which they were sent."""

    def run(number: int, first: int, *calls: str) -> Run:
        made = Run(number)
        for place, said in enumerate(("one", "two", "three"), first):
            made.add(OUT, request(place, "session/prompt", sessionId=made.session, prompt=[]))
            for call in calls:
                made.tell("tool_call", toolCallId=f"{call}_{place}", title="Read")
            made.words(said).add(IN, result(place, stopReason="end_turn", said=said))
        return made

    assert compare(run(0, 3), run(1, 4))[0].is_equal
    assert compare(run(0, 3, "call"), run(1, 4, "call"))[0].is_equal


def test_answers_come_in_any_order() -> None:
    """If the answers to two permission requests come in another order, `diff` ignores this."""
    a = asking(0, "allow 0", "reject 1")
    assert compare(a, asking(1, "reject 1", "allow 0"))[0].is_equal


def test_an_elicitation_names_a_request_of_the_clients() -> None:
    """If an elicitation names a client's request by its id, `diff` ignores that the id differs."""

    def run(number: int) -> Run:
        made = asking(number)
        asked = {"mode": "form", "requestId": 2, "message": "?"}
        return made.add(IN, request(2 + number, "elicitation/create", **asked))

    assert compare(run(0), run(1))[0].is_equal


@pytest.mark.parametrize(("a", "b"), [(1.5, 2.5), (1.0, 1), ("x", 7)])
def test_an_id_may_be_of_any_type(a: Any, b: Any) -> None:
    """`diff` ignores changed request ids, whether they are strings or numbers."""

    def run(number: int, rpc_id: Any) -> Run:
        made = Run(number).add(IN, request(rpc_id, "fs/read_text_file", path="/x"))
        return made.add(OUT, result(rpc_id, content=""))

    assert compare(run(0, a), run(1, b))[0].is_equal


def test_a_session_that_is_refused_is_one_change() -> None:
    """If opening a session fails in A or B only, `diff` reports one change: the answer."""

    def run(number: int, *, is_refused: bool) -> Run:
        made = Run(number).words("hello").end()
        if is_refused:
            made.said[3] = (IN, error(1, -32000, "sign in first"))
        return made

    for refused in (0, 1):
        result, entries = compare(*(run(n, is_refused=n == refused) for n in (0, 1)))
        assert result.counts == Counts(changed=1)
        (entry,) = entries
        assert (entry.title, entry.a, entry.b) == ("the answer to session/new", 4, 4)
        assert {place.pointer for place in entry.fields} == {"/result", "/error"}
