"""The fault engine matches frames with rules, and reports the rules that fired."""

from __future__ import annotations

import json
import signal

from acp_proxy.faults.fault import (
    CloseEffect,
    DirectionEnd,
    ExitEffect,
    Fired,
    RuleEffect,
    ScheduledWrite,
    SignalEffect,
    StallEffect,
    StderrEffect,
)
from acp_proxy.protocol.jsonrpc import Direction
from tests.support.fault_playbook import START_NS, FaultTranscript, check

CLIENT, AGENT = Direction.TO_CLIENT, Direction.TO_AGENT


def update(session: str = "s") -> bytes:
    """An update of a session."""
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session}}
    return json.dumps(message).encode() + b"\n"


def test_side_effects_name_their_rules() -> None:
    """If six fault rules fire at one frame, each side effect, such as a kill, names its rule."""
    rules = ["pause name=p", "stderr-flood name=w lines=1", "kill name=k", "exit name=e code=3",
             "close name=c", "stall name=s"]  # fmt: skip
    outputs = FaultTranscript([f"{rule} where=dir:to-client" for rule in rules]).feed(
        CLIENT, update()
    )
    (first,) = [n for n, o in enumerate(outputs) if isinstance(o, RuleEffect) and o.rule == "p"]
    assert not any(isinstance(o, Fired) for o in outputs[first:])
    assert outputs[first:] == [
        RuleEffect("p", "pause", SignalEffect(signal.SIGSTOP)),
        RuleEffect("w", "stderr-flood", StderrEffect(b"stderr-flood line 1 of 1\n")),
        RuleEffect("k", "kill", SignalEffect(signal.SIGKILL)),
        RuleEffect("e", "exit", ExitEffect(3)),
        RuleEffect("c", "close", CloseEffect(CLIENT)),
        DirectionEnd(CLIENT),
        RuleEffect("s", "stall", StallEffect(CLIENT)),
    ]


def test_a_filter_matches_what_the_recorder_labels() -> None:
    """A fault rule with `method:session/prompt` also matches the response to such a request."""
    check(
        ["drop where='dir:to-client method:session/prompt turn:1 session:s kind:response'"],
        """
        1 -> #0 session/prompt {"sessionId": "s"}
        -> 1
        2 <- #0 result {"stopReason": "end_turn"}
        """,
    )


def test_an_injected_reply_closes_its_request() -> None:
    """If a fault answers a prompt with an error, a rule for the prompt's turn no longer fires."""
    check(
        ["error-reply where=method:session/prompt", "drop where=turn:1"],
        r"""
        1 -> #0 session/prompt {"sessionId": "s"}
        <- | {"jsonrpc":"2.0","id":0,"error":{"code":-32603,"message":"Internal error"}}\n
        2 <- session/update {"sessionId": "s"}
        <- 2
        """,
    )


# What fired


def firings(recorded: FaultTranscript) -> list[tuple[str, bool, bytes | None]]:
    """Returns for each firing the rule, whether it made the frame up, and the delivered bytes."""
    return [(fired.rule, fired.received is None, fired.delivered) for fired in recorded.fired]


def test_every_rule_that_fired_has_the_delivered_bytes() -> None:
    """If three fault rules change one frame, the report of each has the bytes that were sent."""
    recorded = check(
        ["truncate keep_bytes=2", "latency latency_ms=1", "corrupt mode=crlf"],
        r"""
        1 <- | abc
        <- | ab\r\n at 1ms
        """,
    )
    assert firings(recorded) == [
        ("truncate", False, b"ab\r\n"),
        ("latency", False, b"ab\r\n"),
        ("corrupt", False, b"ab\r\n"),
    ]


def test_an_injected_line_has_one_firing_in_its_place() -> None:
    """If a fault injects a line beside a changed frame, each of them has a report of its own."""
    recorded = check(
        ["stray-stdout text=x", "duplicate", "truncate keep_bytes=1"],
        r"""
        1 <- | abc
        <- | x\n
        <- | a\n
        <- | a\n
        """,
    )
    assert firings(recorded) == [
        ("stray-stdout", True, b"x\n"),
        ("stray-stdout", False, b"a\n"),
        ("duplicate", False, b"a\n"),
        ("truncate", False, b"a\n"),
        ("duplicate", True, b"a\n"),
    ]


def test_a_lost_frame_has_no_delivered_bytes() -> None:
    """If faults drop a frame or leave nothing of it, the rules' reports have no sent bytes."""
    recorded = check(
        ["drop where=text:a", "truncate keep_bytes=0 newline=false"],
        """
        1 <- | a
        2 <- | b
        """,
    )
    assert firings(recorded) == [("drop", False, None), ("truncate", False, None)]


def test_frames_after_a_stop_name_the_rule_that_stopped_them() -> None:
    """If a fault closes a stream, frames after that are reported as lost by the same rule."""
    recorded = check(
        ["close where=text:a"],
        """
        1 <- | a
        end of to-client
        2 <- | b
        """,
    )
    assert firings(recorded) == [("close", False, None), ("close", False, None)]
    assert recorded.engine.fired == {"close": 1}
    assert [fired.frame for fired in recorded.fired] == [1, 2]


def test_a_plan_without_rules_lets_everything_pass() -> None:
    """A fault plan without rules changes no frame."""
    recorded = FaultTranscript([])
    outputs = recorded.feed(AGENT, b"x\r\n")
    assert [(o.data, o.due) for o in outputs if isinstance(o, ScheduledWrite)] == [
        (b"x\r\n", START_NS)
    ]
    assert not any(isinstance(o, Fired) for o in outputs)
