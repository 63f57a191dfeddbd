"""The work of `verify` for a message is limited, as counts of calls and lines show."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.permission_playbook import (
    ALLOW,
    END,
    REJECT,
    START,
    STARTED,
    asking,
    permission,
    selected,
)
from tests.support.verify_playbook import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.playbook import Record

FEW, MANY = 60, 240


def calls(work: Callable[[], Any]) -> int:
    """Returns the number of function calls that a function makes."""
    count = 0

    def see(_: Any, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def lines(work: Callable[[], Any]) -> int:
    """Returns the number of lines that a function executes; each loop counts again."""
    count = 0

    def see(_: Any, event: str, __: Any) -> Any:
        nonlocal count
        count += event == "line"
        return see

    before = sys.gettrace()
    sys.settrace(see)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def parallel(record: Record, ask: Callable[[int], str], many: int) -> tuple[int, Any]:
    """Counts the calls for a turn with ``many`` parallel permission requests."""
    asked = "\n".join(f"<- {ask(n)}" for n in range(many))
    answered = "\n".join(f"-> {selected('y', n)}" for n in range(many))
    live = verify(record(f"{START}\n{asked}\n{answered}\n<- {END}")).check(STARTED)
    result = calls(lambda: live.play(*(f"<- {6 + n}" for n in range(many))))
    live.play(f"<- {END}")
    return result, live


@pytest.mark.parametrize(
    "ask",
    [
        lambda n: f"#{n} _x/y {{}}",
        lambda n: f'#{n} fs/read_text_file {{"sessionId": "s", "path": "/f{n}"}}',
        lambda n: permission({"rawInput": {"command": f"do {n}"}}, ALLOW, REJECT, token=n),
    ],
)
def test_the_work_for_parallel_requests_is_linear(
    record: Record, ask: Callable[[int], str]
) -> None:
    """The work of `verify` grows in proportion to the number of parallel requests."""
    few, live = parallel(record, ask, FEW)
    assert (live.mismatches, live.engine.is_over) == ([], True)
    many, live = parallel(record, ask, MANY)
    assert (live.mismatches, live.engine.is_over) == ([], True)
    assert many < 1.5 * MANY / FEW * few


def test_the_work_for_requests_in_another_order_is_linear(record: Record) -> None:
    """If requests come in another order, the work of `verify` is proportional to their number."""

    def backwards(many: int) -> int:
        def ask(n: int, call: str) -> str:
            return permission({"rawInput": {"command": f"do {n}"}, "toolCallId": call}, token=n)

        conversation = "\n".join(f"<- {ask(n, 'a')}\n-> {selected('y', n)}" for n in range(many))
        live = asking(record, conversation)
        result = calls(lambda: live.play(*(f"<- {ask(n, 'b')}" for n in reversed(range(many)))))
        assert live.mismatches == []
        return result

    assert backwards(MANY) < 1.5 * MANY / FEW * backwards(FEW)


@pytest.mark.parametrize("is_over", [False, True])
def test_other_sessions_add_no_work(record: Record, is_over: bool) -> None:
    """The work of `verify` for a message does not depend on the number of sessions."""

    def work(many: int) -> int:
        made = "\n".join(
            f'-> #{n} session/new {{"cwd": "/p"}}\n<- #{n} result {{"sessionId": "s{n}"}}'
            for n in range(many)
        )
        ask = '-> #%d session/prompt {"sessionId": "s%d"}\n<- #%d result {}'
        turns = "\n".join(ask % (9000 + n, n, 9000 + n) for n in range(1 if is_over else many))
        live = verify(record(f"{made}\n{turns}"))
        live.play(*(f"<- {2 * n + 2}" for n in range(many)))
        assert live.sent[-1][0] == str(2 * many + 1)
        update = '<- session/update {"sessionId": "s0", "update": {}}'
        process = lines(lambda: live.play(*[update] * 20))
        assert live.mismatches == []
        return process

    assert work(MANY) < 1.1 * work(FEW)


def test_a_thousand_refusals_are_a_flood(record: Record) -> None:
    """After `verify` has refused a thousand requests in a row, it ends its run."""
    read = '<- #%d fs/read_text_file {"sessionId": "s", "path": "/p/%d"}'
    live = asking(record, f"{read % (0, 0)}\n-> #0 result {{}}")
    live.play(*(read % (n, n) for n in range(1, 1000)))
    live.check(f"{read % (0, 0)}\n-> 7")
    live.play(*(read % (n, n) for n in range(1, 1000)))
    assert not live.engine.is_over
    live.check(f"{read % (5, 5)}\n-> refusal #5\n-> end")
    assert live.divergences[-1].kind == "flood"
    assert "1000 of its requests were refused" in live.divergences[-1].summary
    assert live.engine.is_hopeless
