"""In the 1.0 draft, `diff` joins the terminal output that a client pushes into one text."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.diff.diff_result import Change, Expect
from tests.support.log_writer import error, request, result
from tests.support.scenario_runs import IN, OUT, Run, compare


def pushes(run: Run, *said: tuple[str, str], stream: str | None = None) -> Run:
    """Creates terminals whose output the client pushes; the agent acknowledges each push."""
    names = list(dict.fromkeys(terminal for terminal, _ in sorted(said)))
    for number, name in enumerate(names):
        run.add(IN, request(50 + number, "terminal/create", command="ls"))
        run.add(OUT, result(50 + number, terminalId=f"{name}-{run.number}"))
    for number, (terminal, data) in enumerate(said, 100):
        more = {} if stream is None else {"stream": stream}
        name = f"{terminal}-{run.number}"
        run.add(OUT, request(number, "terminal/output", terminalId=name, data=data, **more))
        run.add(IN, result(number, received=True))
    return run.end()


@pytest.mark.parametrize("expect", Expect)
@pytest.mark.parametrize(
    "said",
    [
        [("t", "abc"), ("u", "xy")],
        [("t", "a"), ("t", ""), ("t", "bc"), ("u", "x"), ("u", "y")],
        [("u", "x"), ("t", "a"), ("u", "y"), ("t", "b"), ("t", "c")],
    ],
)
def test_the_number_and_the_cut_of_pushes_do_not_count(
    said: list[tuple[str, str]], expect: Expect
) -> None:
    """`diff` joins the pieces of a terminal's output and compares the result as one text."""
    a = pushes(Run(0), ("t", "ab"), ("u", "xy"), ("t", "c"))
    result, entries = compare(a, pushes(Run(1), *said), expect=expect)
    assert (result.is_equal, entries) == (True, [])


def test_different_output_is_reported_as_one_text() -> None:
    """If the output of a terminal differs, `diff` reports its whole text as one difference."""
    a, b = pushes(Run(0), ("t", "ab"), ("t", "c")), pushes(Run(1), ("t", "a"), ("t", "bd"))
    _, (entry,) = compare(a, b)
    assert (entry.change, entry.title, entry.a_frames) == (Change.CHANGED, "terminal/output", 2)
    assert [(f.pointer, f.a, f.b) for f in entry.fields] == [("/params/data", "abc", "abd")]
    assert compare(a, b, expect=Expect.STRUCTURE)[0].is_equal


def test_output_of_another_stream_is_another_text() -> None:
    """If output moved from stdout to stderr, `diff` reports a difference."""
    a, b = (pushes(Run(n), ("t", "x"), stream=s) for n, s in enumerate(("stdout", "stderr")))
    _, (entry,) = compare(a, b)
    assert [field.pointer for field in entry.fields] == ["/params/stream"]


def test_a_push_that_the_agent_refuses_is_reported() -> None:
    """If an agent refuses terminal output that the client pushes, `diff` reports the refusal."""
    a, b = Run(0), Run(1)
    for run in (a, b):
        run.add(OUT, request(7, "terminal/output", terminalId="t-1", data="x"))
    a.add(IN, result(7, received=True)).end()
    b.add(IN, error(7, -32602, "no such terminal")).end()
    _, (entry,) = compare(a, b)
    assert (entry.change, entry.title) == (Change.ONLY_B, "the answer to terminal/output")


def test_an_answer_that_does_not_say_received_is_reported_once() -> None:
    """If answers to pushed terminal output lack `received` in B, `diff` reports this once."""

    def run(number: int, *pieces: str, first: int = 7, **answer: Any) -> Run:
        made = Run(number)
        for rpc_id, data in enumerate(pieces, first):
            made.add(OUT, request(rpc_id, "terminal/output", terminalId="t-1", data=data))
            made.words("Hm").add(IN, result(rpc_id, **answer))
        return made.words("", "Hm" * (3 - len(pieces))).end()

    a, b = run(0, "x", "y", "z", received=True), run(1, "xyz", first=9)
    _, (entry,) = compare(a, b)
    assert (entry.change, entry.title) == (Change.ONLY_B, "the answer to terminal/output")
    assert compare(a, b, expect=Expect.STRUCTURE)[0].is_equal
    assert compare(run(0, "x", "y", "z"), b)[0].is_equal
    refusing = run(1, "xyz", first=9, received=False)
    _, (entry,) = compare(a, refusing)
    assert (entry.change, entry.title) == (Change.ONLY_B, "the answer to terminal/output")


def test_output_may_be_left_out() -> None:
    """With a rule that ignores pushed terminal output, `diff` also ignores its number of pieces."""
    a, b = pushes(Run(0), ("t", "x")), pushes(Run(1), ("t", "y"), ("t", "z"))
    assert compare(a, b, ignored=("/params/data",))[0].is_equal
    assert not compare(a, b, exact=True)[0].is_equal


def test_long_output_is_not_held() -> None:
    """`diff` compares long terminal output in pieces, and does not hold all of it in memory."""
    words = "some words " * 50_000
    a = pushes(Run(0), *(("t", words[i : i + 7000]) for i in range(0, len(words), 7000)))
    b = pushes(Run(1), *(("t", words[i : i + 4099]) for i in range(0, len(words), 4099)))
    assert compare(a, b)[0].is_equal


@pytest.mark.parametrize("params", [{"terminalId": "t"}, {"data": 7}, [1], None])
def test_pushes_without_output_are_messages_like_others(params: Any) -> None:
    """`diff` compares a pushed `terminal/output` without text like any other message."""
    push = {"jsonrpc": "2.0", "id": 7, "method": "terminal/output", "params": params}
    a, b = Run(0).add(OUT, push).end(), Run(1).add(OUT, push).end()
    assert compare(a, b)[0].is_equal
    assert not compare(a, Run(1).end())[0].is_equal


def test_the_requests_of_a_v1_agent_still_count() -> None:
    """In v1, `diff` reports a request for terminal output that only B has."""
    a, b = Run(0), Run(1)
    for run, times in ((a, 1), (b, 2)):
        for number in range(times):
            run.add(IN, request(number, "terminal/output", sessionId=run.session, terminalId="t"))
            run.add(OUT, result(number, output="x", truncated=False))
    _, entries = compare(a.end(), b.end())
    assert [entry.change for entry in entries] == [Change.ONLY_B, Change.ONLY_B]
