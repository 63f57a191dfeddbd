"""Playback pairs recorded secrets with live secrets, and never shows either."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.replay.replay_report import text
from tests.support.verify_playbook import verify

if TYPE_CHECKING:
    from tests.support.playbook import Live, Record, RecordedTranscript

    Record = Record

OLD, NEW, OTHER = (f"sk-ant-api03-{letter * 3}{'Zx9Qw3Rt7Yp1' * 3}" for letter in "abc")
RECORDED = f"""
    1-2 handshake
    3 -> #1 session/new {{"cwd": "/p", "mcpServers": [{{"name": "m", "command": "c", "args": [], "env": [{{"name": "M_TOKEN", "value": "{OLD}"}}]}}]}}
    4 <- #1 result {{"sessionId": "s"}}
    5 -> #2 session/prompt {{"sessionId": "s", "prompt": [{{"type": "text", "text": "use {OLD} now"}}]}}
    6 <- #2 result {{"stopReason": "end_turn"}}
    7 -> #3 session/prompt {{"sessionId": "s", "prompt": [{{"type": "text", "text": "again {OLD}"}}]}}
    8 <- #3 result {{"stopReason": "end_turn"}}
"""  # noqa: E501
LEVELS = ("none", "secrets")
KEY = {"marker_key": "07" * 16}


def recorded_at(record: Record, level: str, transcript: str = RECORDED) -> RecordedTranscript:
    """Makes a recording with secrets at a level of redaction."""
    recorded = record(transcript, redaction=level, **KEY)
    assert (level == "none") == any(OLD.encode() in raw for raw in recorded.raw.values())
    return recorded


def prompt(number: int, words: str) -> str:
    """Returns a client's prompt as a line of a transcript."""
    content = json.dumps([{"type": "text", "text": words}])
    return f'-> #{number} session/prompt {{"sessionId": "s", "prompt": {content}}}'


def new_session(token: str) -> str:
    """Returns a client's request for a session whose MCP server has a secret."""
    env = [{"name": "M_TOKEN", "value": token}]
    servers = json.dumps([{"name": "m", "command": "c", "args": [], "env": env}])
    return f'-> #1 session/new {{"cwd": "/p", "mcpServers": {servers}}}'


def without_secrets(live: Live) -> str:
    """Returns the report of a replay, and asserts that no secret is in it."""
    result = repr(live.report) + "\n".join(text(live.report)) + live.bytes.decode()
    assert not any(secret[14:] in result for secret in (NEW, OTHER))
    return "\n".join(text(live.report))


def replay_with_new_secret(record: Record, level: str) -> Live:
    """Returns a replay whose client has sent a secret twice, different from the recorded one."""
    return (
        recorded_at(record, level)
        .replay()
        .check(f"""
        -> 1
        <- 2
        {new_session(NEW)}
        <- 4
        {prompt(2, f"use {NEW} now")}
        <- 6
    """)
    )


@pytest.mark.parametrize("level", LEVELS)
def test_another_secret_of_the_client_is_paired_with_the_recorded_one(
    record: Record, level: str
) -> None:
    """If a client sends a different secret than the masked recorded one, a replay accepts it."""
    live = replay_with_new_secret(record, level)
    live.check(f"""
        {prompt(3, f"again {NEW}")}
        <- 8
        -> end
        <- end
    """)
    assert live.mismatches == []
    assert [divergence.kind for divergence in live.divergences] == ["masked"]
    assert "masked, and was not compared" in without_secrets(live)
    assert live.report.verdict == "clean"


@pytest.mark.parametrize("level", LEVELS)
def test_a_secret_that_becomes_another_one_contradicts_the_recording(
    record: Record, level: str
) -> None:
    """If a client replaces a secret that it sent before by a different one, a replay diverges."""
    live = replay_with_new_secret(record, level)
    live.check(f"""
        {prompt(3, f"again {OTHER}")}
        <- refusal #3
    """)
    assert [item.kind for item in live.divergences if item.rank == "primary"] == [
        "binding-conflict"
    ]
    result = without_secrets(live)
    assert "which stands for another secret elsewhere" in result
    assert "/params/prompt/0/text" in result


@pytest.mark.parametrize("level", LEVELS)
def test_a_text_that_differs_elsewhere_differs(record: Record, level: str) -> None:
    """If the text around a secret differs, a replay diverges, and its report masks the secret."""
    live = recorded_at(record, level).replay()
    live.check(f"""
        -> 1
        <- 2
        {new_session(NEW)}
        <- 4
        {prompt(2, f"do not use {NEW} now")}
        <- refusal #2
    """)
    assert [divergence.kind for divergence in live.divergences if divergence.rank == "primary"] == [
        "params-differ"
    ]
    assert "[redacted:" in without_secrets(live)


def test_a_recorded_marker_stands_for_itself_as_well(record: Record) -> None:
    """A replay accepts a recorded marker that the client sends in place of its secret."""
    recorded = recorded_at(record, "secrets")
    live = recorded.replay()
    live.check(f"""
        -> 1
        <- 2
        {new_session(NEW)}
        4-6
        {prompt(3, f"again {NEW}")}
        <- 8
    """)
    assert live.mismatches == []


def test_a_text_that_is_no_secret_to_us_is_paired_too(record: Record) -> None:
    """In a replay, a recorded marker also matches a live text that does not look like a secret."""
    transcript = """
        1-4 session
        5 -> #2 session/prompt {"sessionId": "s", "prompt": "[redacted:password:0a0b0c0d] [redacted:password:0a0b0c0d]"}
        6 <- #2 result {"stopReason": "end_turn"}
        7 -> #3 session/prompt {"sessionId": "s", "prompt": "a [redacted:password:0a0b0c0d] b"}
        8 <- #3 result {"stopReason": "end_turn"}
    """  # noqa: E501
    for words, is_matched in (("ab ab", True), ("ab cd", False), ("ab", False)):
        live = record(transcript, redaction="secrets", **KEY).replay()
        live.check("-> 1\n<- 2\n-> 3\n<- 4")
        live.send(f'#2 session/prompt {{"sessionId": "s", "prompt": "{words}"}}')
        assert (live.mismatches == []) == is_matched
        if is_matched:
            live.send('#3 session/prompt {"sessionId": "s", "prompt": "a cd b"}')
            assert live.mismatches != []


ASKED = f"""
    1-4 session
    5 -> #2 session/prompt {{"sessionId": "s", "prompt": "go"}}
    6 <- #7 terminal/create {{"sessionId": "s", "command": "curl", "args": ["{OLD}"]}}
    7 -> #7 result {{"terminalId": "t"}}
    8 <- #8 session/request_permission {{"sessionId": "s", "toolCall": {{"toolCallId": "c", "rawInput": {{"command": "curl {OLD}"}}}}, "options": [{{"optionId": "y", "name": "y", "kind": "allow_once"}}, {{"optionId": "n", "name": "n", "kind": "reject_once"}}]}}
    9 -> #8 result {{"outcome": {{"outcome": "selected", "optionId": "y"}}}}
    10 <- #2 result {{"stopReason": "end_turn"}}
"""  # noqa: E501


def asking(token: str) -> str:
    """Returns a permission request of the agent whose command has a secret."""
    call = {"toolCallId": "c", "rawInput": {"command": f"curl {token}"}}
    options = [
        {"optionId": o, "name": o, "kind": k}
        for o, k in (("y", "allow_once"), ("n", "reject_once"))
    ]
    params = {"sessionId": "s", "toolCall": call, "options": options}
    return f"<- #8 session/request_permission {json.dumps(params)}"


@pytest.mark.parametrize("level", LEVELS)
def test_nothing_is_granted_by_a_mask(record: Record, level: str) -> None:
    """`verify` denies permission for a command with a different secret than the recorded one."""
    live = verify(recorded_at(record, level, ASKED))
    live.play("<- 2", "<- 4")
    command = f'{{"sessionId": "s", "command": "curl", "args": ["{NEW}"]}}'
    assert live.play(f"<- #7 terminal/create {command}") == ["-> 7"]
    (answer,) = live.play(asking(NEW))
    assert '"n"' in answer
    assert [divergence.kind for divergence in live.divergences] == ["masked", "permission-differs"]
    assert not any(secret[14:] in repr(live.report) for secret in (OLD, NEW))


@pytest.mark.parametrize("level", LEVELS)
def test_permission_is_granted_for_the_secret_that_was_filled_in(
    record: Record, level: str
) -> None:
    """`verify` grants permission for a command with the secret that `verify` sent before."""
    recorded = recorded_at(record, level, ASKED)
    live = verify(recorded)
    live.play("<- 2", "<- 4", "<- 6")
    assert live.play("<- 8") == ["-> 9"]
    assert live.mismatches == []


SHORT = "pin7xy"
SPOKEN = """
    1-4 session
    5 -> #2 session/prompt {"sessionId": "s", "prompt": [{"type": "text", "text": "sign in with [redacted:env:0a0b0c0d] and go on"}, {"type": "text", "text": "one"}]}
    6 <- #2 result {"stopReason": "end_turn"}
"""  # noqa: E501


def asked_with(*words: str) -> str:
    """Returns a prompt that contains several texts."""
    content = json.dumps([{"type": "text", "text": word} for word in words])
    return f'#2 session/prompt {{"sessionId": "s", "prompt": {content}}}'


@pytest.mark.parametrize(
    "words",
    [
        (f"do not sign in with {SHORT} and go on", "one"),
        (f"sign in with {SHORT} and go on", "another"),
        (f"{SHORT} is it", "another", f"{SHORT}?"),
    ],
)
def test_what_stands_where_the_recording_has_a_marker_is_not_shown(
    record: Record, words: tuple[str, ...]
) -> None:
    """If a recorded prompt has a marker, a replay's report hides the live text in its place."""
    live = record(SPOKEN, redaction="secrets", **KEY).replay()
    live.check("-> 1\n<- 2\n-> 3\n<- 4")
    live.send(asked_with(*words[:2]))
    result = repr(live.report) + "\n".join(text(live.report)) + live.bytes.decode()
    assert [divergence.kind for divergence in live.divergences] == ["params-differ"]
    assert SHORT not in result
    assert "[redacted:env:0a0b0c0d]" in result or words[1] == "another"


def test_a_prompt_without_a_recorded_marker_is_shown(record: Record) -> None:
    """If a recorded prompt has no marker, the report of a replay shows the live prompt."""
    live = record(SPOKEN, redaction="secrets", **KEY).replay()
    live.check("-> 1\n<- 2\n-> 3\n<- 4")
    live.send(asked_with("sign in with [redacted:env:0a0b0c0d] and go on", "another"))
    (divergence,) = live.divergences
    assert "sign in with" in (divergence.came or "")
    (difference,) = divergence.near_misses[0].differences
    assert (difference.recorded, difference.live) == ('"one"', '"another"')


RUN = """
    1-4 session
    5 -> #2 session/prompt {"sessionId": "s", "prompt": "go"}
    6 <- #7 terminal/create {"sessionId": "s", "command": "curl -u [redacted:env:0a0b0c0d] x"}
    7 -> #7 result {"terminalId": "t"}
    8 <- #8 session/request_permission {"sessionId": "s", "toolCall": {"toolCallId": "c", "title": "run with [redacted:env:0a0b0c0d]", "rawInput": {"command": "go [redacted:env:0a0b0c0d]"}}, "options": [{"optionId": "y", "name": "y", "kind": "allow_once"}, {"optionId": "n", "name": "n", "kind": "reject_once"}]}
    9 -> #8 result {"outcome": {"outcome": "selected", "optionId": "y"}}
    10 <- #2 result {"stopReason": "end_turn"}
"""  # noqa: E501


def test_what_an_agent_asks_where_the_recording_has_a_marker_is_not_shown(record: Record) -> None:
    """If a recorded message has a marker, the report of `verify` hides the live text there."""
    live = verify(record(RUN, redaction="secrets", **KEY))
    live.play("<- 2", "<- 4")
    live.play(f'<- #7 terminal/create {{"sessionId": "s", "command": "wget {SHORT} x"}}')
    call = {
        "toolCallId": "c",
        "title": f"run with {SHORT}",
        "rawInput": {"command": f"go {SHORT}"},
    }
    options = [{"optionId": "n", "name": "n", "kind": "reject_once"}]
    params = {"sessionId": "s", "toolCall": call, "options": options}
    live.play(f"<- #8 session/request_permission {json.dumps(params)}")
    assert [divergence.kind for divergence in live.divergences] == [
        "unmatched",
        "permission-differs",
    ]
    assert SHORT not in repr(live.report)


def test_what_is_found_later_is_masked_in_the_report(record: Record) -> None:
    """The report of a replay masks a secret even in lines that came before the secret was known."""
    value = "plum-rhubarb-771"
    live = record(SPOKEN.replace("[redacted:env:0a0b0c0d]", "it"), redaction="none").replay()
    live.check("-> 1\n<- 2\n-> 3\n<- 4")
    live.send(asked_with(f"it is {value}", "z" * 180 + value))
    log = live.engine.state.divergences
    assert value in repr(log.masked({}))
    result = repr(log.masked({value: "[redacted:env:0a0b0c0d]"}))
    assert value[:4] not in result
    assert "it is [redacted:env:" in result
    assert "z (" not in result
