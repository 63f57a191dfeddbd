"""Tests each statement of `docs/diff.md` about the levels frames, structure and outcome."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.diff.diff import diff
from acp_proxy.diff.diff_result import DiffOptions, Expect
from tests.support.log_writer import error, notification, request, result, text
from tests.support.scenario_runs import IN, OUT, Run, Said, compare

ALWAYS = "frames structure outcome"
"""A changed outcome also changes the structure, and a changed structure the frames."""
DONE = "frames structure"
SAID = "frames"

SESSION = Run(0).session


def told(what: str, **fields: Any) -> Said:
    """Returns a session update."""
    params = {"sessionId": SESSION, "update": {"sessionUpdate": what, **fields}}
    return IN, notification("session/update", **params)


def call(**fields: Any) -> Said:
    """Returns an update of a tool call."""
    return told("tool_call", **{"toolCallId": "c", "title": "Edit", "kind": "edit"} | fields)


def asks(method: str, **fields: Any) -> Said:
    """Returns a request of the agent."""
    return IN, request(9, method, sessionId=SESSION, **fields)


def leave(**fields: Any) -> Said:
    """Returns a permission request."""
    asked = {"toolCall": {"toolCallId": "c"}, "options": [], **fields}
    return asks("session/request_permission", **asked)


def option(**fields: str) -> list[dict[str, str]]:
    """Returns an option of a permission request."""
    return [{"optionId": "yes", "name": "Yes", "kind": "allow_once"} | fields]


def answered(value: dict[str, Any]) -> list[Said]:
    """Returns a request of the agent with the client's result."""
    return [asks("_x/ask"), (OUT, result(9, **value))]


def permitted(
    value: dict[str, Any], options: tuple[tuple[str, str], ...] = (("y", "allow_once"),)
) -> list[Said]:
    """Returns a permission request with the client's decision."""
    offered = [{"optionId": name, "name": name, "kind": kind} for name, kind in options]
    return [leave(options=offered), (OUT, result(9, **value))]


def chosen(option: str) -> dict[str, Any]:
    """Returns the result that selects an option."""
    return {"outcome": {"outcome": "selected", "optionId": option}}


BOTH = (("y", "allow_once"), ("z", "allow_always"), ("n", "reject_once"))


def refused(code: int = -32000, message: str = "no") -> list[Said]:
    """Returns a request of the agent with the client's error."""
    return [asks("_x/ask"), (OUT, error(9, code, message))]


STOP: Said = (IN, result(2, stopReason="end_turn"))
TOLD = {
    "a text": ([told("agent_message_chunk", content=text("one"))],
               [told("agent_message_chunk", content=text("two"))], SAID),
    "an image": ([told("agent_message_chunk", content={"type": "image", "data": "YQ=="})],
                 [told("agent_message_chunk", content={"type": "image", "data": "Yg=="})], SAID),
    "a plan": ([told("plan", entries=[])], [told("plan", entries=[{"content": "x"}])], SAID),
    "metadata": ([told("plan", entries=[])], [told("plan", entries=[], _meta={"x": 1})], SAID),
    "the kind of an update": ([told("plan")], [told("current_mode_update")], DONE),
    "an update more": ([told("plan")], [told("plan"), told("x"), told("plan")], DONE),
    "the order of updates": ([told("plan"), told("x")], [told("x"), told("plan")], DONE),
    "a mode": ([told("current_mode_update", currentModeId="ask")],
               [told("current_mode_update", currentModeId="code")], DONE),
    "the title of a call": ([call(title="Edit")], [call(title="Write")], DONE),
    "the kind of a call": ([call(kind="edit")], [call(kind="move")], DONE),
    "the status of a call": ([call(status="completed")], [call(status="failed")], DONE),
    "the input of a call": ([call(rawInput={"x": 1})], [call(rawInput={"x": 2})], SAID),
    "the output of a call": ([call(rawOutput={"x": 1})], [call(rawOutput={"x": 2})], SAID),
    "the content of a call": ([call(content=[])], [call(content=[{"type": "x"}])], SAID),
    "a call that is told twice": ([call()], [call(), call()], SAID),
    "a call that is told again": ([call(), call(toolCallId="d")],
                                  [call(), call(toolCallId="d"), call()], SAID),
    "what is told twice": ([told("plan", entries=[])],
                           [told("plan", entries=[]), told("plan", entries=[])], SAID),
    "a stop reason": ([STOP], [(IN, result(2, stopReason="refusal"))], ALWAYS),
    "a stop reason that is told (v2)": ([told("state_update", state="idle", stopReason="end_turn")],
                                        [told("state_update", state="idle", stopReason="refusal")],
                                        ALWAYS),
    "a state (v2)": ([told("state_update", state="idle")],
                     [told("state_update", state="running")], DONE),
    "the usage of a turn": ([(IN, result(2, stopReason="end_turn", usage={"n": 1}))],
                            [(IN, result(2, stopReason="end_turn", usage={"n": 2}))], SAID),
    "a turn without an end": ([STOP], [], ALWAYS),
    "a login that fails (draft)": ([(IN, result(2, success=True))],
                                   [(IN, result(2, success=False))], ALWAYS),
}  # fmt: skip
ASKED = {
    "a file": ([asks("fs/read_text_file", path="/a")], [asks("fs/read_text_file", path="/b")],
               DONE),
    "the lines of a file": ([asks("fs/read_text_file", path="/a", line=1)],
                            [asks("fs/read_text_file", path="/a", line=2)], SAID),
    "what is written": ([asks("fs/write_text_file", path="/a", content="x")],
                        [asks("fs/write_text_file", path="/a", content="y")], SAID),
    "a resource": ([asks("_x/read", uri="file:///a")], [asks("_x/read", uri="file:///b")], DONE),
    "a command": ([asks("terminal/create", command="ls")], [asks("terminal/create", command="rm")],
                  DONE),
    "the arguments of a command": ([asks("terminal/create", command="ls", args=["-l"])],
                                   [asks("terminal/create", command="ls", args=["-a"])], DONE),
    "the environment of a command": ([asks("terminal/create", command="ls", env=[])],
                                     [asks("terminal/create", command="ls", env=[{"name": "X"}])],
                                     SAID),
    "the subject of a question (v2)": ([leave(subject={"type": "command", "command": "ls"})],
                                       [leave(subject={"type": "command", "command": "rm"})],
                                       DONE),
    "what one can choose": ([leave(options=option())],
                            [leave(options=option(kind="allow_always"))], DONE),
    "what a choice is called": ([leave(options=option())], [leave(options=option(name="Ja"))],
                                SAID),
    "what was chosen": (answered({"outcome": {"outcome": "selected", "optionId": "yes"}}),
                        answered({"outcome": {"outcome": "selected", "optionId": "no"}}), DONE),
    "a permission": (permitted(chosen("y"), BOTH), permitted(chosen("n"), BOTH), ALWAYS),
    "a permission that is called otherwise": (permitted(chosen("y")),
                                              permitted(chosen("j"), (("j", "allow_once"),)), DONE),
    "how long a permission holds": (permitted(chosen("y"), BOTH), permitted(chosen("z"), BOTH),
                                    DONE),
    "a permission of nobody": (permitted(chosen("y")),
                               permitted({"outcome": {"outcome": "cancelled"}}), ALWAYS),
    "a permission (draft)": (permitted({"granted": True}), permitted({"granted": False}), ALWAYS),
    "how long a permission holds (draft)": (permitted({"granted": True, "scope": "once"}),
                                            permitted({"granted": True, "scope": "always"}), SAID),
    "a permission that is not decided on": (permitted(chosen("y")), permitted(chosen("y"))[:1],
                                            ALWAYS),
    "the content of a file": (answered({"content": "x"}), answered({"content": "y"}), SAID),
    "how a command ended": (answered({"exitStatus": {"exitCode": 0}}),
                            answered({"exitStatus": {"exitCode": 1}}), DONE),
    "what the client does not do": (answered({}), refused(), DONE),
    "why the client does not do it": (refused(), refused(-32603), DONE),
    "the client's words for it": (refused(), refused(message="never"), SAID),
    "what the client does not answer": (answered({}), answered({})[:1], DONE),
    "a request more": ([STOP], [asks("_x/ask"), STOP], DONE),
    "the method of a request": ([asks("_x/ask")], [asks("_x/beg")], DONE),
    "what the agent does not do": ([STOP], [(IN, error(2, -32000, "no"))], ALWAYS),
    "why the agent does not do it": ([(IN, error(2, -32000, "no"))],
                                     [(IN, error(2, -32603, "no"))], ALWAYS),
    "the agent's words for it": ([(IN, error(2, -32000, "no"))], [(IN, error(2, -32000, "never"))],
                                 SAID),
    "a mode that is set": ([(OUT, request(3, "session/set_mode", modeId="ask"))],
                           [(OUT, request(3, "session/set_mode", modeId="code"))], DONE),
    "a prompt": ([(OUT, request(3, "session/prompt", sessionId=SESSION, prompt=[text("x")]))],
                 [(OUT, request(3, "session/prompt", sessionId=SESSION, prompt=[text("y")]))],
                 SAID),
    "a cancellation": ([], [(OUT, notification("session/cancel", sessionId=SESSION))], DONE),
    "a line that is no message": ([], [(IN, "debug: on")], DONE),
}  # fmt: skip


NOTHING = ""
"""For nobody."""


def initialize(**fields: Any) -> Said:
    """Returns the client's half of the handshake."""
    return OUT, request(0, "initialize", **{"protocolVersion": 1} | fields)


def agent(**fields: Any) -> Said:
    """Returns the agent's half of the handshake."""
    return IN, result(0, **{"protocolVersion": 1} | fields)


HANDSHAKES: dict[str, tuple[Said, Said, str]] = {
    "the version of the protocol": (agent(), agent(protocolVersion=2), ALWAYS),
    "a capability": (agent(agentCapabilities={}), agent(agentCapabilities={"loadSession": True}),
                     ALWAYS),
    "a capability (v2)": (agent(capabilities={}), agent(capabilities={"session": {}}), ALWAYS),
    "a way to log in": (agent(authMethods=[]), agent(authMethods=[{"id": "key"}]), ALWAYS),
    "no handshake": (agent(), (IN, error(0, -32000, "no")), ALWAYS),
    "a handshake that says nothing": ((IN, {"jsonrpc": "2.0", "id": 0, "result": None}),
                                      (IN, error(0, -32000, "no")), ALWAYS),
    "the agent's version": (agent(agentInfo={"version": "1"}), agent(agentInfo={"version": "2"}),
                            DONE),
    "why there is no handshake": ((IN, error(0, -32000, "no")), (IN, error(0, -32603, "no")),
                                  DONE),
    "a capability of the client's": (initialize(clientCapabilities={}),
                                     initialize(clientCapabilities={"terminal": True}), DONE),
    "what the client asks for": (initialize(), initialize(protocolVersion=2), DONE),
    "what the client cannot do": (initialize(clientCapabilities={"fs": {}}),
                                  initialize(clientCapabilities={"terminal": False,
                                                                 "fs": {"readTextFile": False}}),
                                  NOTHING),
    "what the client cannot do (draft)": (initialize(capabilities={}),
                                          initialize(capabilities={"terminal": False}), NOTHING),
    "what the agent cannot do": (agent(agentCapabilities={}),
                                 agent(agentCapabilities={"loadSession": False}), NOTHING),
}  # fmt: skip


def differs_in(a: Run, b: Run) -> tuple[str, str]:
    """Returns the levels that report a difference, of A compared with B and of B with A."""
    with a.open() as of_a, b.open() as of_b:
        there, back = (
            " ".join(each for each in Expect if not diff(*pair, DiffOptions(expect=each)).is_equal)
            for pair in ((of_a, of_b), (of_b, of_a))
        )
    return there, back


@pytest.mark.parametrize(("a", "b", "where"), {**TOLD, **ASKED}.values(), ids=[*TOLD, *ASKED])
def test_a_change_counts_for_the_right_strictness(a: list[Said], b: list[Said], where: str) -> None:
    """`diff --expect` reports each kind of difference only at its levels, whichever side is A.

    For example, a changed text counts at `frames`, and a changed stop reason at all levels.
    """
    runs = Run(0), Run(0)
    for run, said in zip(runs, (a, b), strict=True):
        run.said += said
    assert differs_in(*runs) == (where, where)


@pytest.mark.parametrize(("a", "b", "where"), HANDSHAKES.values(), ids=HANDSHAKES)
def test_a_changed_handshake_counts_for_the_right_strictness(a: Said, b: Said, where: str) -> None:
    """`diff --expect` reports each change of a handshake only at its levels, whichever side is A.

    For example, a new capability counts at all levels, but the agent's version not at `outcome`.
    """
    runs = Run(0).end(), Run(0).end()
    for run, said in zip(runs, (a, b), strict=True):
        run.said[said[0] == IN] = said
    assert differs_in(*runs) == (where, where)


@pytest.mark.parametrize("dialect", ["v1", "draft-1.0"])
def test_which_of_two_permissions_is_granted_always_counts(dialect: str) -> None:
    """If A grants one of two permissions and B the other, `diff` reports it at each `--expect`."""

    def decided(*granted: bool) -> Run:
        run = Run(0)
        for number, is_granted in enumerate(granted):
            asked = {"operation": "file_write", "resource": f"/{number}", "options": [
                {"optionId": name, "name": name, "kind": kind} for name, kind in BOTH]}  # fmt: skip
            run.add(IN, request(10 + number, "session/request_permission",
                                sessionId=SESSION, **asked))  # fmt: skip
            value = {"granted": is_granted} if dialect != "v1" else chosen("ny"[is_granted])
            run.add(OUT, result(10 + number, **value))
        return run.end()

    assert differs_in(decided(True, False), decided(False, True)) == (ALWAYS, ALWAYS)
    assert differs_in(decided(True, False), decided(True, False)) == ("", "")


def test_a_handshake_without_an_answer_has_no_outcome() -> None:
    """At `diff --expect outcome`, an unanswered handshake is the same as a missing one."""
    a, b = Run(0), Run(0)
    a.said, b.said = a.said[:1], []
    assert differs_in(a, b) == (DONE, DONE)


@pytest.mark.parametrize("expect", Expect)
def test_what_differs_between_any_two_runs_never_counts(expect: Expect) -> None:
    """At every level of `--expect`, `diff` ignores changed ids and directories."""
    runs = [Run(number).words(f"in {Run(number).cwd}").end() for number in (0, 1)]
    assert compare(*runs, expect=expect)[0].is_equal
