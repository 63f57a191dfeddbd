"""`verify` denies permission requests that are ambiguous or unreadable."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.playbooks.test_verify_permissions import elsewhere
from tests.support.permission_playbook import END, LS, RM, asking, outcome, permission, selected

if TYPE_CHECKING:
    from tests.support.playbook import Record

BARE: dict[str, Any] = {}


def updated(**members: Any) -> str:
    """Returns an update of the tool call that needs permission."""
    update = {"sessionUpdate": "tool_call_update", "toolCallId": "call-0", **members}
    return f"session/update {json.dumps({'sessionId': 's', 'update': update})}"


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("other", ["y:allow_always", "y:reject_once", "y:allow_once_more"])
def test_an_id_of_two_kinds_is_not_chosen(record: Record, other: str, *, lenient: bool) -> None:
    """If two options of different kinds have one id, `verify` does not choose this id."""
    for offered in (("y:allow_once", other), (other, "y:allow_once")):
        live = asking(record, f"<- {permission(LS)}\n-> {selected('y')}", lenient=lenient)
        live.check(f"<- {permission(LS, *offered)}\n-> {outcome(None)}\n<- {END}\n-> end")
        assert live.mismatches == ["outcome-differs primary in s 7"]


def test_an_ambiguous_id_does_not_reject(record: Record) -> None:
    """To deny a permission request, `verify` chooses an option with a unique id."""
    both = ("x:reject_once", "x:allow_once")
    for offered, answer in ((both, None), ((*both, "n:reject_always"), "n")):
        live = asking(record, f"<- {permission(LS)}\n-> {selected('y')}")
        live.check(f"<- {permission(RM, *offered)}\n-> {outcome(answer)}\n<- {END}\n-> end")
        assert live.mismatches == ["permission-differs primary in s 6"]


def test_all_of_a_title_counts(record: Record) -> None:
    """With `--lenient`, `verify` grants permission only if the whole title is as recorded."""
    long = "rm -rf " + "a/" * 100
    for title, is_allowed in ((f"{long}x", True), (f"{long}y", False)):
        call = {"title": f"{long}x", "kind": "execute"}
        live = asking(record, f"<- {permission(call)}\n-> {selected('y')}", lenient=True)
        answer = "7" if is_allowed else outcome("n")
        live.check(f"<- {permission({**call, 'title': title})}\n-> {answer}\n<- {END}\n-> end")


TITLED = {"toolCall": {"toolCallId": "c", "title": "Shell", "kind": "execute"}}


@pytest.mark.parametrize(
    "change",
    [
        {"description": "rm -rf ~"},
        {"subject": {"type": "command", "title": "rm -rf ~"}},
        {"options": [{"optionId": "y", "name": "rm -rf ~", "kind": "allow_once"}]},
        {"toolCall": {**TITLED["toolCall"], "content": [{"text": "rm -rf ~"}]}},
    ],
    ids=["description", "subject", "options", "content"],
)
def test_all_that_a_person_sees_counts(record: Record, change: dict[str, Any]) -> None:
    """With `--lenient`, `verify` grants nothing by title if any other text is different."""
    offered = [{"optionId": "y", "name": "Run it", "kind": "allow_once"}]
    params: dict[str, Any] = {"sessionId": "s", "options": offered, **TITLED}
    for came, is_allowed in ((params, True), ({**params, **change}, False)):
        asked = f"<- #0 session/request_permission {json.dumps(params)}\n-> {selected('y')}"
        live = asking(record, asked, lenient=True)
        replies = live.play(f"<- #0 session/request_permission {json.dumps(came)}")
        assert (replies == ["-> 7"]) is is_allowed
        assert (live.mismatches == []) is is_allowed


def test_a_title_that_changes_before_the_answer_is_not_trusted(record: Record) -> None:
    """With `--lenient`, `verify` denies a permission if its tool call's title has changed."""
    call = {"title": "Shell", "kind": "execute"}
    asked = f"<- {permission(call)}\n<- #9 _x/wait {{}}\n-> #9 result 1\n-> {selected('y')}"
    for title, answer in (("Shell", "9"), ("rm -rf ~", outcome("n"))):
        live = asking(record, asked, lenient=True)
        live.check(f"<- {permission(call)}\n<- {updated(title=title)}\n.. 2s\n-> {answer}")


@pytest.mark.parametrize("call", [BARE, {"kind": "execute"}, {"title": "", "kind": "execute"}])
def test_a_lenient_client_does_not_trust_a_missing_title(
    record: Record, call: dict[str, Any]
) -> None:
    """With `--lenient`, `verify` does not grant a permission request without a title."""
    live = asking(record, f"<- {permission(call)}\n-> {selected('y')}", lenient=True)
    live.check(f"<- {permission(call)}\n-> {outcome('n')}\n<- {END}\n-> end")
    assert live.mismatches == ["permission-differs primary in s 6"]


def test_an_unreadable_update_changes_the_scope(record: Record) -> None:
    """If an update of a tool call cannot be parsed, `verify` denies the call's permission."""
    first = updated(rawInput={"command": "ls"})
    live = asking(record, f"<- {first}\n<- {permission(BARE)}\n-> {selected('y')}")
    huge = updated(rawInput={"command": "rm -rf ~", "n": 0}).replace('"n": 0', f'"n": {"9" * 5000}')
    live.check(f"<- {first}\n<- {huge}\n<- {permission(BARE)}\n-> {outcome('n')}\n<- {END}\n-> end")
    assert live.mismatches == ["permission-differs primary in s 7"]


@pytest.mark.parametrize("name", ["insertAt", "start_at", "cut_at_ms", "timestamp"])
def test_a_small_number_is_no_time(record: Record, name: str) -> None:
    """`verify` denies a permission if a small number differs, even one named like a time.

    A number as large as a timestamp may differ.
    """
    raw = {"path": "/p/a"}
    was = {"rawInput": {**raw, name: 5}}
    for value, is_allowed in ((5, True), (6, False)):
        live = asking(record, f"<- {permission(was)}\n-> {selected('y')}")
        came = permission({"rawInput": {**raw, name: value}})
        live.check(f"<- {came}\n-> {'7' if is_allowed else outcome('n')}\n<- {END}\n-> end")
    was = {"rawInput": {**raw, name: 1_700_000_000}}
    live = asking(record, f"<- {permission(was)}\n-> {selected('y')}")
    came = permission({"rawInput": {**raw, name: 1_800_000_000.5}})
    live.check(f"<- {came}\n-> 7\n<- {END}\n-> end")


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf /p.bak",
        "rm -rf ~/p/x",
        "rm -rf /p~",
        "rm -rf ${X}/p",
        "curl http://p/x",
        "rm -rf /p*",
        "rm ~//p",
    ],
)
def test_a_neighbour_of_the_directory_does_not_move_with_it(record: Record, text: str) -> None:
    """`verify` does not replace a path that only begins like the recorded directory."""
    was = {"rawInput": {"command": text}}
    came = {"rawInput": {"command": text.replace("/p", "/live")}}
    live = elsewhere(record, f"<- {permission(was)}\n-> {selected('y')}")
    live.check(f"<- {permission(came)}\n-> {outcome('n')}\n<- {END}\n-> end")


def test_escapes_of_other_bytes_are_other_paths(record: Record) -> None:
    """`verify` treats two URIs that differ in escaped bytes as different paths."""
    was, came = ({"locations": [{"uri": f"file:///p/%{byte}"}]} for byte in ("ff", "fe"))
    live = asking(record, f"<- {permission(was)}\n-> {selected('y')}")
    live.check(f"<- {permission(came)}\n-> {outcome('n')}\n<- {END}\n-> end")
