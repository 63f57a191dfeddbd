"""A replay names the outcome of each reply of the client, and describes it in words."""

from __future__ import annotations

from typing import Any

from acp_proxy.playback.replay.client_replies import CANCELLED, described, outcome
from tests.support.cases import each_case

PERMISSION = {"params": {"options": [{"optionId": "y", "kind": "allow_once"}, 7]}}


@each_case(
    ("method", "reply", "words"),
    [
        ("m", {"error": {}}, "error"),
        ("m", {"error": {}, "result": {}}, "error"),
        ("m", {"result": None}, "success"),
        ("m", {"result": {"exitCode": 1}}, "success"),
        ("m", None, "error"),
        ("session/request_permission", {"result": {"outcome": {"outcome": "cancelled"}}},
         "cancelled"),
        ("session/request_permission",
         {"result": {"outcome": {"outcome": "selected", "optionId": "y"}}},
         "the choice allow_once"),
        ("session/request_permission",
         {"result": {"outcome": {"outcome": "selected", "optionId": "odd"}}}, "the choice odd"),
        ("session/request_permission", {"result": {"outcome": "odd"}}, "success"),
        ("session/request_permission", {"result": {"granted": True}}, "granted"),
        ("session/request_permission", {"result": {"granted": False}}, "denied"),
        ("elicitation/create", {"result": {"action": "decline"}}, "the answer decline"),
        ("terminal/wait_for_exit", {"result": {"exitCode": 2}}, "exit code 2"),
        ("terminal/wait_for_exit", {"result": {"exitCode": 2.0}}, "exit code 2"),
        ("terminal/wait_for_exit", {"result": {"signal": "KILL"}}, "signal KILL"),
    ],
)  # fmt: skip
def test_each_outcome_has_a_description(method: str, reply: Any, words: str) -> None:
    """A replay describes each outcome of the client's reply in words."""
    assert described(outcome(method, PERMISSION, reply)) == words


def test_a_cancelled_permission_is_an_outcome_of_its_own() -> None:
    """A replay distinguishes a cancelled permission request from a denied one."""
    reply = {"result": {"outcome": {"outcome": "cancelled"}}}
    assert outcome("session/request_permission", None, reply) == CANCELLED
