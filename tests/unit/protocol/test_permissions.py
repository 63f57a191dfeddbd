"""Permission requests and answers are read in one way, for replay, verify, diff and audit."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.protocol.permissions import is_draft, options_of, read_answer, rejecting_option
from tests.support.cases import each_case

OPTIONS: list[dict[str, Any]] = [
    {"optionId": "y", "kind": "allow_once"},
    {"optionId": "n", "kind": "reject_once"},
    {"optionId": "both", "kind": "reject_once"},
    {"optionId": "both", "kind": "allow_always"},
]


def selected(option: Any) -> dict[str, Any]:
    """Returns an answer that selects a permission option."""
    return {"result": {"outcome": {"outcome": "selected", "optionId": option}}}


@each_case(
    ("answer", "decision", "may_allow"),
    [
        (selected("y"), "granted", True),
        (selected("n"), "denied", False),
        (selected("both"), "denied", True),
        (selected("unknown"), "unknown", True),
        (selected(7), "selected", True),
        ({"result": {"outcome": {"outcome": "cancelled"}}}, "cancelled", False),
        ({"result": {"outcome": {"outcome": "cancelled", "optionId": None}}}, "cancelled", False),
        ({"result": {"outcome": {"outcome": "odd"}}}, "odd", True),
        ({"result": {"outcome": "odd"}}, "odd", True),
        ({"result": {"granted": True}}, "granted", True),
        ({"result": {"granted": False}}, "denied", False),
        ({"result": {"granted": False, **selected("y")["result"]}}, "denied", False),
        ({"result": {"granted": 0}}, "denied", True),
        ({"result": {}}, "nothing", False),
        ({"result": None}, "nothing", False),
        ({"result": [1]}, "nothing", True),
        ({"error": {"code": 1}}, "nothing", False),
        ({"error": {"code": 1}, **selected("y")}, "nothing", False),
        ({"error": None, **selected("y")}, "granted", True),
        (None, "nothing", False),
    ],
)
def test_each_answer_has_a_decision(answer: Any, decision: str, may_allow: bool) -> None:
    """`read_answer` returns what a permission's answer decides, and if it may allow the action."""
    read = read_answer(OPTIONS, answer)
    assert (read.decision, read.may_allow) == (decision, may_allow)


def test_an_option_has_the_kind_that_it_was_offered_with() -> None:
    """acp-proxy finds the kind of the chosen permission option in the permission request."""
    assert read_answer(OPTIONS, selected("y")).kind == "allow_once"
    assert read_answer(OPTIONS, selected("both")).kinds == ("reject_once", "allow_always")
    assert read_answer([], selected("y")).kind == "y"
    assert read_answer([{"optionId": "y"}], selected("y")).decision == "y"


@pytest.mark.parametrize("request_", [None, {}, {"params": 1}, {"params": {"options": {"a": 1}}}])
def test_a_request_of_any_shape_can_be_read(request_: Any) -> None:
    """If the options of a permission request are not a list, acp-proxy reads no options."""
    assert options_of(request_) == []
    assert rejecting_option(request_) is None


def test_options_are_distinguished_by_their_ids_alone() -> None:
    """To deny a permission, `verify` chooses no option whose id another option also has."""
    assert rejecting_option({"params": {"options": [*OPTIONS, 7]}}) == "n"
    assert rejecting_option({"params": {"options": OPTIONS[2:]}}) is None
    always = {"optionId": "never", "kind": "reject_always"}
    assert rejecting_option({"params": {"options": [always, OPTIONS[1]]}}) == "n"
    assert rejecting_option({"params": {"options": [always]}}) == "never"


def test_a_draft_request_has_neither_options_nor_a_tool_call() -> None:
    """acp-proxy treats a permission request without options and tool call as a draft's request."""
    assert is_draft({"params": {"operation": "read"}})
    assert not is_draft({"params": {"toolCall": {}}})
    assert not is_draft({})
