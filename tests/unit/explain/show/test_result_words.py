"""`list` shows the result of a conversation in a few words, with signals by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from attrs import evolve

from acp_proxy.explain.findings import Finding, Severity
from acp_proxy.explain.show.result_words import ending_words, exit_words, result_words
from acp_proxy.explain.show.summary import find_quickly
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from acp_proxy.recording.recording import Recording


def ended(**values: Any) -> Recording:
    """Returns a complete recording whose agent ended in some way."""
    with RecordingReader(DIRECTORY / "hello.db") as reader:
        return evolve(reader.recording, **{"exit_code": None, **values})


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hang", "never answered #6"),
        ("crash", "crashed: SIGABRT"),
        ("lost-permission", "client: no answer #11"),
        ("wrong-params", "set_mode: invalid params"),
        ("tour", "ended"),
    ],
)
def test_the_results_of_shipped_recordings(name: str, words: str) -> None:
    """For each shipped recording, `list` shows the expected result."""
    with RecordingReader(DIRECTORY / f"{name}.db") as reader:
        findings, *_ = find_quickly(reader)
        assert result_words(findings, reader.recording) == words


@each_case(
    ("values", "reason", "words"),
    [
        ({"exit_code": 0}, "the client closed its end", "exit 0, the client closed its end"),
        ({"exit_code": 1}, "by itself", "exit 1, on its own"),
        ({"exit_code": 143, "end_reason": "told to stop"}, "told to stop",
         "exit 143, stopped by the client"),
        ({"exit_signal": 15, "end_reason": "told to stop"}, "told to stop",
         "stopped by the client: SIGTERM"),
        ({"exit_signal": 6}, "by itself", "crashed: SIGABRT"),
        ({"exit_signal": 11}, "the client closed its end",
         "crashed: SIGSEGV, the client closed its end"),
        ({"exit_signal": 9}, "by itself", "killed: SIGKILL"),
        ({"exit_signal": 9, "end_reason": "told to stop"}, "told to stop", "killed: SIGKILL"),
        ({}, "the recording was cut off", "the recording was cut off"),
    ],
)  # fmt: skip
def test_an_ending_is_in_words(values: dict[str, Any], reason: str, words: str) -> None:
    """`list` describes how a recording ended, for example by a crash or a signal."""
    assert ending_words(ended(**values), reason) == words


@each_case(
    ("rule", "by", "brief", "words"),
    [
        ("wait.unanswered", "agent", "", "agent hung #7"),
        ("wait.unanswered", None, "", "never answered #7"),
        ("wait.silence", "client", "", "silence #7"),
        ("wait.client-silent", "client", "", "client silent #7"),
        ("fault.effect", "fault", "", "fault #7"),
        ("answer.error", "client", "-32602 ×2", "-32602 ×2"),
        ("answer.error", "agent", "", "error #7"),
        ("recording.empty", None, "", "empty #7"),
        ("order.prompt-first", "client", "", "client broke a rule #7"),
    ],
)
def test_the_worst_finding_is_the_result(rule: str, by: str, brief: str, words: str) -> None:
    """`list` describes the worst finding of a recording in a few words, with the frame's number."""
    finding = Finding(rule, Severity.ERROR, by, 7, "a sentence", brief=brief)
    assert result_words([finding], ended(exit_code=0)) == words


def test_an_agent_that_ended_early_has_the_words_of_its_exit() -> None:
    """If an agent ended early, `list` names the recorded signal, or else the finding's frame."""
    finding = Finding("agent.ended", Severity.ERROR, "environment", 7, "a sentence")
    assert result_words([finding], ended(exit_signal=9)) == "killed: SIGKILL"
    assert result_words([finding], ended()) == "agent ended early #7"


def test_without_a_finding_the_result_is_the_state() -> None:
    """If a recording has no findings, `list` shows how the recording ended."""
    info = Finding("wait.silence", Severity.INFO, "agent", 7, "a sentence")
    assert result_words([info], ended(exit_code=0)) == "ended"
    assert result_words([], ended(exit_code=3)) == exit_words(ended(exit_code=3)) == "exit 3"
    assert result_words([], ended(state="incomplete")) == "incomplete"
    assert result_words([], ended(), "agent silent 7.0 s", live=True) == "agent silent 7.0 s"
    assert result_words([], ended(), live=True) == "nothing is open"
