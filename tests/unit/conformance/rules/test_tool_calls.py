"""Tool calls: an id that is used again is one mistake, and the call is a new one."""

from __future__ import annotations

from tests.judged import before, check_lines, judge

TURN = "a v1 handshake, session s, a prompt"
ASK = (
    '<- #{} session/request_permission {{"sessionId": "s", "toolCall": {{"toolCallId": "c"}},'
    ' "options": [{{"optionId": "no", "name": "No", "kind": "reject_once"}}]}}'
)
NO = '-> #{} result {{"outcome": {{"outcome": "selected", "optionId": "no"}}}}'
AGAIN = "   tool.id-reused by agent"


def call(status: str) -> str:
    """Returns an announcement."""
    return (
        '<- session/update {"sessionId": "s", "update": {"sessionUpdate": "tool_call",'
        f' "toolCallId": "c", "title": "Run", "status": "{status}"}}}}'
    )


def update(status: str) -> str:
    """Returns an update."""
    return call(status).replace("tool_call", "tool_call_update")


def test_an_id_that_is_used_again_is_found_once() -> None:
    """The statuses of the new call do not belong to the old one."""
    used = [call("pending"), update("in_progress"), update("completed")]
    again = [call("pending"), AGAIN, *used[1:]]
    assert judge(used + used + used, TURN) == [*used, *again, *again]


def test_the_last_announcement_is_named() -> None:
    """And not the first one, which may be far away."""
    lines = [call("completed"), call("completed"), call("pending")]
    seqs = [one.related for one in check_lines([*before(TURN), *lines]).findings]
    assert seqs == [(6,), (7,)]


def test_an_id_is_used_again_after_permission_was_asked_with_it() -> None:
    """The permission request begins the call, and the announcement uses the id again."""
    used = [call("pending"), update("in_progress"), update("completed")]
    asked = [ASK.format(0), call("pending"), f"{AGAIN} (warning)"]
    assert judge([*used, *asked], TURN) == [*used, *asked]


def test_a_refusal_belongs_to_its_call() -> None:
    """The next call with the same id may run."""
    refused = [call("pending"), ASK.format(0), NO.format(0), update("failed")]
    runs = [call("pending"), AGAIN, update("in_progress"), update("completed")]
    assert judge([*refused, *runs], TURN) == [*refused, *runs]
