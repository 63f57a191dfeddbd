# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""In `verify`, a recorded permission holds only for the action that it was granted for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.verify.permission_scope import differences, moved, scope
from acp_proxy.playback.verify.recorded_requests import key_of
from tests.support.cases import each_case
from tests.support.permission_playbook import (
    ALLOW,
    END,
    LS,
    REJECT,
    RM,
    START,
    STARTED,
    asking,
    options,
    outcome,
    permission,
    selected,
)
from tests.support.verify_playbook import LiveAgent, verify

if TYPE_CHECKING:
    from tests.support.playbook import Record

PAIRS = Path(__file__).parents[1] / "data" / "pairs"
EDIT = {"kind": "edit", "locations": [{"path": "/p/a"}], "content": [{"type": "diff", "path": "/p/a", "newText": "x"}]}  # fmt: skip


def elsewhere(record: Record, recorded: str) -> LiveAgent:
    """Begins a verification up to its prompt; ``/live`` replaces the recorded ``/p``."""
    live = verify(record(f"{START}\n{recorded}\n<- {END}"), roots={"/p": "/live"})
    return live.check(STARTED.replace("-> 3", '-> #1 session/new {"cwd": "/live"}'))


@pytest.mark.parametrize(
    ("was", "came"),
    [
        (LS, RM),
        (LS, {**LS, "locations": [{"path": "/etc/passwd"}]}),
        (LS, {**LS, "rawInput": {"command": "ls", "cwd": "/"}}),
        (LS, {**LS, "rawInput": {"command": "ls", "env": {"PATH": "/evil"}}}),
        (LS, {"title": "ls", "kind": "read"}),
        (LS, {"kind": "read", "rawInput": {"command": ["ls"]}}),
        (LS, {**LS, "kind": "execute"}),
        ({"rawInput": {"command": ["sh", "-c", "ls"]}}, {"rawInput": {"command": ["sh", "-c", "rm"]}}),
        ({"rawInput": {"cmd": "ls"}, "title": "x"}, {"rawInput": {"command": "ls"}, "title": "x"}),
        ({"rawInput": {"command": "ls /p"}}, {"rawInput": {"command": "ls /q"}}),
        ({"rawInput": {"a": {"file_path": "/p/a"}}}, {"rawInput": {"a": {"file_path": "/p/b"}}}),
        ({"rawInput": {"changes": {"/p/a": {}}}}, {"rawInput": {"changes": {"/p/b": {}}}}),
        ({"rawInput": {"amount": 5}, "title": "pay"}, {"rawInput": {"amount": 6}, "title": "pay"}),
        (EDIT, {**EDIT, "locations": [{"path": "/etc/passwd"}]}),
        (EDIT, {**EDIT, "content": [{"type": "diff", "path": "/etc/passwd"}]}),
        (EDIT, {**EDIT, "content": [{"type": "diff", "path": "/p/a", "newText": "y"}]}),
        (EDIT, {**EDIT, "locations": [{"path": "/p/a"}, {"path": "/p/b"}]}),
        (LS, {"title": "rm -rf ~"}),
    ],
)  # fmt: skip
def test_permission_for_something_else_is_not_granted(
    record: Record, was: dict[str, Any], came: dict[str, Any]
) -> None:
    """`verify` denies permission for an unrecorded action, and still grants the recorded one."""
    live = elsewhere(record, f"<- {permission(was)}\n-> {selected('y')}")
    live.check(f"""
        <- {permission(came, token=9)}
        -> {outcome("n", 9)}
        <- {permission(was)}
        -> 7
        <- {END}
        -> end
    """)
    assert live.mismatches == ["permission-differs primary in s 6"]
    assert live.divergences[0].differences
    assert live.report.has_diverged


@pytest.mark.parametrize(
    ("was", "came"),
    [
        (LS, {**LS, "title": "List files"}),
        (LS, {**LS, "rawInput": {"command": "ls", "description": "Lists", "call_id": "7", "started_at_ms": 1763800000000}}),
        ({"rawInput": {"command": "ls", "cwd": "/p/a"}}, {"rawInput": {"command": "ls", "cwd": "/live/a"}}),
        ({"rawInput": {"command": "cat /p/a > '/p'"}}, {"rawInput": {"command": "cat /live/a > '/live'"}}),
        ({"rawInput": {"command": "cat /p/a"}}, {"rawInput": {"command": "cat /p/a"}}),
        ({"rawInput": {"id": 5, "turn_id": "1"}}, {"rawInput": {"id": 5, "turn_id": "2"}}),
        (EDIT, {"kind": "edit", "title": "new", "locations": [{"path": "/live/a", "line": 3}], "content": [{"type": "diff", "path": "/live/a", "newText": "x"}]}),
    ],
)  # fmt: skip
def test_permission_for_the_same_is_granted(
    record: Record, was: dict[str, Any], came: dict[str, Any]
) -> None:
    """`verify` grants permission for the recorded action, even if its title differs."""
    live = elsewhere(record, f"<- {permission(was)}\n-> {selected('y')}")
    token = {"toolCallId": "other"}
    live.check(f"<- {permission({**came, **token})}\n-> 7\n<- {END}\n-> end")
    assert (live.mismatches, live.informed) == ([], [])


@pytest.mark.parametrize(
    ("offered", "answer"),
    [
        (("y:allow_once", "a:reject_always", "o:reject_once"), "o"),
        (("z:allow_once", "a:reject_always"), "a"),
        (("y:allow_once",), None),
    ],
)
def test_an_option_that_rejects_once_is_chosen(
    record: Record, offered: tuple[str, ...], answer: str | None
) -> None:
    """To deny a permission request, `verify` prefers the option that rejects only once."""
    live = asking(record, f"<- {permission(LS)}\n-> {selected('y')}")
    live.check(f"""
        <- {permission(RM, *offered, token=5)}
        -> {outcome(answer, 5)}
        <- {permission(LS)}
        -> 7
        <- {END}
        -> end
    """)
    assert live.mismatches == ["permission-differs primary in s 6"]
    assert '"rm -rf ~"' in live.divergences[0].summary
    assert '"ls" #6' in live.divergences[0].summary.replace(f"#{live.divergences[0].seq}", "#6")


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(
    ("chosen", "offered", "answer"),
    [
        ("y", ("y:allow_once", "never:reject_always", "n:reject_once"), "y"),
        ("y", ("n:reject_once", "y:allow_once"), "y"),
        ("y", ("n:reject_once", "z:allow_once"), "z"),
        ("y", ("y:reject_once", "z:allow_once"), "z"),
        ("y", ("x:allow_once:Both", "z:allow_once:Yes"), "z"),
        ("y", ("y:allow_once:Both", "z:allow_once:Yes"), "y"),
        ("n", ("n:reject_once",), "n"),
        ("n", ("never:reject_always", "no:reject_once", "y:allow_once"), "no"),
        ("a", ("a:allow_always",), "a"),
        ("y", ("n:reject_once",), None),
        ("y", ("y:allow_always:Yes", "n:reject_once"), None),
        ("y", ("a:allow_always:Yes", "n:reject_once"), None),
        ("a", ("y:allow_once", "n:reject_once"), None),
        ("n", ("y:allow_once", "n:allow_once:No", "never:reject_always:No"), None),
        ("r", ("x:reject_always:Other",), "x"),
        ("y", (), None),
    ],
)
def test_other_options_do_not_matter(
    record: Record,
    chosen: str,
    offered: tuple[str, ...],
    answer: str | None,
    *,
    lenient: bool,
) -> None:
    """Whatever options a permission request has, `verify` chooses the recorded kind or none."""
    named = (
        "y:allow_once:Yes",
        "b:allow_once:Both",
        "a:allow_always:Always",
        "n:reject_once:No",
        "r:reject_always:Never",
    )
    live = asking(record, f"<- {permission(LS, *named)}\n-> {selected(chosen)}", lenient=lenient)
    came = permission(LS).replace(options(ALLOW, REJECT), options(*offered))
    sent = selected(str(answer)) if answer else outcome(None)
    live.check(f"""
        <- {came}
        -> {7 if answer == chosen else sent}
        <- {END}
        -> end
    """)
    assert live.mismatches == ([] if answer else ["outcome-differs primary in s 7"])


def test_an_option_that_was_not_offered_is_chosen_again(record: Record) -> None:
    """If the recorded client chose an option that was never offered, `verify` chooses it, too.

    If the live agent offers an option with this id, `verify` does not choose it.
    """
    live = asking(record, f"<- {permission(LS)}\n-> {selected('what')}")
    live.check(f"<- {permission(LS)}\n-> 7\n<- {END}\n-> end")
    assert live.mismatches == []
    masked, now = ({**LS, "title": title} for title in ("[redacted:token:1f0c9a3e]", "hush"))
    live = asking(record, f"<- {permission(masked)}\n-> {selected('what')}")
    live.check(f"<- {permission(now, 'what:allow_always')}\n-> {outcome(None)}\n<- {END}\n-> end")
    assert live.mismatches == ["outcome-differs primary in s 7"]
    came = live.divergences[0].came or ""
    assert "allow_always" in came
    assert "hush" not in came  # where the recorded request has a secret


def test_options_decide_among_equal_requests(record: Record) -> None:
    """If permission requests differ only in options, `verify` gives each its recorded answer."""
    recorded = f"<- {permission(LS)}\n-> {selected('y')}\n<- {permission(LS, REJECT, token=1)}\n-> {selected('n', 1)}"
    live = asking(record, recorded)
    live.check(f"""
        <- {permission({**LS, "title": "other"}, "n:reject_once:Nope", token=1)}
        .. 1s
        -> 9
        <- {permission(LS)}
        -> 7
        <- {END}
        -> end
    """)
    assert live.mismatches == []


def test_only_the_same_permission_can_be_exhausted(record: Record) -> None:
    """`verify` reports a permission as requested too often only if its action was recorded."""
    live = asking(record, f"<- {permission(LS)}\n-> {selected('y')}")
    live.check(f"""
        <- {permission(LS)}
        -> 7
        <- {permission(RM, token=1)}
        -> {outcome("n", 1)}
        <- {permission({**LS, "title": "again"}, "z:allow_once", token=2)}
        -> {outcome(None, 2)}
        <- {END}
        -> end
    """)
    assert [divergence.kind for divergence in live.divergences] == [
        "permission-differs",
        "exhausted",
    ]


def test_a_rejection_is_repeated_for_any_request(record: Record) -> None:
    """If a permission was denied in the recording, `verify` denies any request in its place."""
    live = asking(record, f"<- {permission(LS)}\n-> {selected('n')}")
    live.check(f"<- {permission(RM)}\n-> 7\n<- {END}\n-> end")
    assert live.mismatches == []


def test_each_request_gets_its_own_answer_in_any_order(record: Record) -> None:
    """If permission requests come in a different order, `verify` gives each its own answer."""
    recorded = f"<- {permission(LS)}\n-> {selected('y')}\n<- {permission(RM, token=1)}\n-> {selected('n', 1)}"
    live = asking(record, recorded)
    live.check(f"""
        <- {permission({**RM, "toolCallId": "x"}, token=1)}
        .. 1s
        -> 9
        <- {permission({**LS, "toolCallId": "y"})}
        -> 7
        <- {END}
        -> end
    """)
    assert live.mismatches == []


NAMELESS = [
    {},
    {"title": "ls"},
    {"title": "ls", "kind": "execute"},
    {"title": "ls", "kind": "execute", "content": [{"type": "content", "content": {"type": "text", "text": "[in /p]"}}]},
    {"title": "ls", "rawInput": {"call_id": "7"}, "locations": []},
    {"title": "ls", "kind": "execute", "rawInput": {"background": True, "tool": "sh", "description": "List"}},
]  # fmt: skip


@pytest.mark.parametrize("call", NAMELESS)
def test_a_request_that_names_nothing_is_refused_even_unchanged(
    record: Record, call: dict[str, Any]
) -> None:
    """`verify` denies a permission request that names no action."""
    live = asking(record, f"<- {permission(call)}\n-> {selected('y')}")
    live.check(f"<- {permission(call)}\n-> {outcome('n')}\n<- {END}\n-> end")
    assert live.mismatches == ["permission-differs primary in s 6"]


@pytest.mark.parametrize("call", NAMELESS[1:])
def test_a_lenient_client_trusts_a_title(record: Record, call: dict[str, Any]) -> None:
    """With `--lenient`, `verify` grants a request without an action if its title is as recorded."""
    for came, is_allowed in ((call, True), ({**call, "title": "rm"}, False), (RM, False)):
        live = asking(record, f"<- {permission(call)}\n-> {selected('y')}", lenient=True)
        answer = "7" if is_allowed else outcome("n")
        live.check(f"<- {permission(came)}\n-> {answer}\n<- {END}\n-> end")
        assert (live.mismatches == []) is is_allowed


def test_a_lenient_client_allows_nothing_else(record: Record) -> None:
    """With `--lenient`, `verify` still denies an action that was not recorded."""
    for offered, answer in (((ALLOW, REJECT), "n"), ((ALLOW,), None)):
        live = asking(record, f"<- {permission(LS)}\n-> {selected('y')}", lenient=True)
        live.check(f"<- {permission(RM, *offered)}\n-> {outcome(answer)}\n<- {END}\n-> end")
        assert live.mismatches == ["permission-differs primary in s 6"]


def test_an_ignored_difference_is_not_allowed(record: Record) -> None:
    """`verify` denies an unrecorded action even if `--ignore` names the values that differ."""
    ignored = ("/params/toolCall/rawInput", "/params/toolCall/kind", "/params")
    live = asking(record, f"<- {permission(LS)}\n-> {selected('y')}", ignored=ignored)
    live.check(f"<- {permission(RM)}\n-> {outcome('n')}\n<- {END}\n-> end")
    assert live.mismatches == ["permission-differs primary in s 6"]


def test_a_request_in_a_cancelled_turn_is_cancelled(record: Record) -> None:
    """After a cancelled turn, `verify` answers the turn's permission requests with `cancelled`."""
    conversation = (
        f'-> session/cancel {{"sessionId": "s"}}\n<- {permission(LS)}\n-> {selected("y")}'
    )
    live = verify(record(f"{START}\n{conversation}\n<- {END}")).check(f"{STARTED}\n-> 6")
    live.check(f"<- {permission(RM)}\n-> {outcome(None)}\n<- {END}\n-> end")
    assert (live.mismatches, live.informed) == ([], ["late in s"])


def test_a_request_that_is_nested_too_deeply_is_not_allowed(record: Record) -> None:
    """`verify` denies a permission request that is nested too deeply."""
    deep: Any = {"command": "ls"}
    for _ in range(700):
        deep = {"a": deep}
    live = asking(record, f"<- {permission(LS)}\n-> {selected('y')}")
    live.check(f"<- {permission({**LS, 'rawInput': deep})}\n-> {outcome('n')}\n<- {END}\n-> end")
    assert live.mismatches == ["permission-differs primary in s 6"]


def requests(path: Path) -> tuple[str, list[Any]]:
    """Returns the working directory and the permission requests of a recording."""
    head, *rest = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    messages = (line.get("message") for line in rest)
    asked = [m for m in messages if m and m.get("method") == "session/request_permission"]
    return head["recording"]["cwd"], asked


ASKING = sorted(path for path in PAIRS.glob("*.a.jsonl") if requests(path)[1])


@each_case("path", ASKING, ids=lambda path: path.name.partition(".")[0])
@each_case("turned", [False, True])
def test_two_runs_of_a_real_agent_have_the_same_scopes(path: Path, *, turned: bool) -> None:
    """`verify` treats the permission requests in two runs of a real agent as equal."""
    paths = [path, path.with_name(path.name.replace(".a.", ".b."))]
    (old_cwd, old), (new_cwd, new) = map(requests, reversed(paths) if turned else paths)
    bindings = Bindings(roots={old_cwd: new_cwd})
    assert len(old) == len(new) > 0
    for was, came in zip(old, new, strict=True):
        then, now = scope(was, {}), scope(came, {})
        assert differences(then, now, bindings) == ()
        assert key_of(moved(then, bindings)) == key_of(now)
        assert differences(then, now, Bindings())


@pytest.mark.parametrize(
    "where",
    [{"locations": [{"path": "/srv/p"}]}, {"rawInput": {"cwd": "/srv/p", "timeout": 3}}],
)
def test_a_command_that_only_its_title_names_is_denied(
    record: Record, where: dict[str, Any]
) -> None:
    """`verify` denies a command that is named only in the title of its tool call."""
    call = {"kind": "execute", "title": "npm test", **where}
    live = asking(record, f"<- {permission(call)}\n-> {selected('y')}")
    assert live.play(f"<- {permission({**call, 'title': 'rm -rf /'})}") == [f"-> {outcome('n')}"]
    (result,) = live.divergences
    assert result.summary == (
        'the agent asked permission for "rm -rf /" but named no command or file, so #7,'
        ' "npm test", may have allowed another action; the request was rejected'
    )
    assert [(d.pointer, d.recorded, d.live) for d in result.differences] == [
        ("/params/toolCall/title", '"npm test"', '"rm -rf /"')
    ]
    live = asking(record, f"<- {permission(call)}\n-> {selected('y')}")
    assert live.play(f"<- {permission(call)}") == [f"-> {outcome('n')}"]
    assert live.divergences[0].summary.endswith(
        "#7 may have allowed another action; the request was rejected; --lenient compares its texts"
    )
