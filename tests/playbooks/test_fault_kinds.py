"""Each kind of fault acts as the manual says, also together with other faults."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from acp_proxy.faults.fault import ScheduledWrite
from acp_proxy.faults.plan import KINDS
from acp_proxy.protocol.jsonrpc import Direction
from tests.support.fault_playbook import FaultTranscript, check

UPDATE = 'session/update {"sessionId": "s", "update": {"sessionUpdate": "plan", "entries": []}}'


def delivered(recorded: FaultTranscript) -> bytes:
    """Returns all bytes that a fault plan has sent."""
    return b"".join(o.data for o in recorded.outputs if isinstance(o, ScheduledWrite))


def test_noop_lets_everything_pass() -> None:
    """The fault `noop` lets everything pass unchanged."""
    check(
        ["noop"],
        r"""
        1 -> #0 initialize {"protocolVersion": 1}
        -> 1
        2 <- | not json\r\n
        <- 2
        3 <- | \xff half\c
        <- 3
        <- end
        end of to-client
        """,
    )


def test_latency_keeps_the_order() -> None:
    """If a fault delays a frame, later frames in the same direction wait, too."""
    check(
        ["latency latency_ms=500 where=kind:response"],
        f"""
        1 -> #0 initialize {{}}
        -> 1
        2 <- #0 result {{}}
        <- 2 at 500ms
        3 <- {UPDATE}
        <- 3 at 500ms
        4 -> session/cancel {{}}
        -> 4
        .. 1s
        5 <- | x
        <- 5
        """,
    )


def test_latency_varies_by_jitter() -> None:
    """The jitter of the fault `latency` varies the delay of each frame within a limit."""
    recorded = FaultTranscript(["latency latency_ms=100 jitter_ms=20"])
    due = []
    for _ in range(50):
        recorded.now += 10**9
        for output in recorded.feed(Direction.TO_CLIENT, b"x\n"):
            if isinstance(output, ScheduledWrite):
                due.append((output.due - recorded.now) / 1e6)
    assert all(80 <= late <= 120 for late in due)
    assert len(set(due)) == 50
    assert min(due) < 90
    assert max(due) > 110


def test_bandwidth_holds_over_frames() -> None:
    """The fault `bandwidth` limits the bytes per second of all frames in a direction."""
    check(
        ["bandwidth bytes_per_s=100 where=dir:to-client"],
        r"""
        1 <- | 123456789
        <- | 12345 at 50ms
        <- | 6789\n at 100ms
        2 <- | abc
        <- 2 at 140ms
        .. 1s
        3 <- | z
        <- 3 at 1020ms
        """,
    )


def test_slice_splits_characters() -> None:
    """The fault `slice` sends a frame in pieces, and may split a UTF-8 character."""
    recorded = check(
        ["slice bytes=1 delay_ms=2"],
        r"""
        1 <- | \xc3\xa91
        <- | \xc3
        <- | \xa9 at 2ms
        <- | 1 at 4ms
        <- | \n at 6ms
        """,
    )
    assert delivered(recorded) == "é1\n".encode()


def test_drop_lets_nothing_pass() -> None:
    """The fault `drop` removes the frame that its rule matches."""
    check(
        ["drop where=method:session/update times=1"],
        f"""
        1 <- {UPDATE}
        2 <- {UPDATE}
        <- 2
        """,
    )


def test_duplicate_copies_after_the_frame() -> None:
    """The fault `duplicate` sends all copies right after the frame."""
    check(
        ["duplicate copies=3"],
        """
        1 -> #1 session/prompt {}
        -> 1
        -> 1
        -> 1
        """,
    )


def test_reorder_lets_later_frames_go_first() -> None:
    """The fault `reorder` sends a frame after a number of later frames."""
    check(
        ["reorder after_frames=2 times=1"],
        """
        1 <- | a
        2 <- | b
        <- 2
        3 <- | c
        <- 3
        <- 1
        4 <- | d
        <- 4
        """,
    )


def test_reorder_of_everything_does_not_hold_for_ever() -> None:
    """If the fault `reorder` matches every frame, each frame is sent when the next frame comes."""
    check(
        ["reorder"],
        """
        1 <- | a
        2 <- | b
        <- 1
        3 <- | c
        <- 2
        <- end
        <- 3
        end of to-client
        """,
    )


@pytest.mark.parametrize(
    ("mode", "line"),
    [
        ("bad-json", r'{"a":"\xc3\xa9"\n'),
        ("bom", r'\xef\xbb\xbf{"a":"\xc3\xa9"}\n'),
        ("crlf", r'{"a":"\xc3\xa9"}\r\n'),
    ],
)
def test_corrupt_does_what_its_mode_says(mode: str, line: str) -> None:
    """The fault `corrupt` changes a frame by its mode: `bad-json`, `bom` or `crlf`."""
    check(
        [f"corrupt mode={mode}"],
        rf"""
        1 <- | {{"a":"\xc3\xa9"}}
        <- | {line}
        """,
    )


@pytest.mark.parametrize(("mode", "byte"), [("bad-utf8", b"\xff"), ("nul", b"\0")])
def test_corrupt_puts_a_byte_somewhere(mode: str, byte: bytes) -> None:
    """In its random mode, the fault `corrupt` inserts a byte at a random position."""
    recorded = FaultTranscript([f"corrupt mode={mode}"])
    lines = set()
    for _ in range(40):
        (out,) = [
            o
            for o in recorded.feed(Direction.TO_CLIENT, b"123456\n")
            if isinstance(o, ScheduledWrite)
        ]
        assert out.data.replace(byte, b"") == b"123456\n"
        assert out.data.count(byte) == 1
        assert out.data.endswith(b"\n")
        lines.add(out.data)
    assert len(lines) > 3


def test_a_flipped_bit_never_makes_two_lines() -> None:
    """The fault `corrupt` flips one bit of a frame, and the changed byte is never a newline."""
    recorded = FaultTranscript(["corrupt"])
    line = bytes(b for b in range(256) if b not in b"\r\n")
    for _ in range(300):
        (out,) = [
            o
            for o in recorded.feed(Direction.TO_AGENT, line + b"\n")
            if isinstance(o, ScheduledWrite)
        ]
        assert out.data.count(b"\n") == 1
        assert b"\r" not in out.data
        bits = sum((a ^ b).bit_count() for a, b in zip(out.data, line, strict=False))
        assert bits == 1


def test_truncate_keeps_the_newline() -> None:
    """The fault `truncate` cuts off the end of a frame, but keeps the newline."""
    check(
        ["truncate keep_bytes=3"],
        r"""
        1 <- | abcdef\r
        <- | abc\r\n
        2 <- | ab
        <- 2
        3 <- | abcdef\c
        <- | abc
        """,
    )


def test_truncate_without_newline_glues_the_next_frame() -> None:
    """If the fault `truncate` removes the newline, the frame is joined with the next one."""
    recorded = check(
        ["truncate keep_bytes=3 newline=false times=1"],
        r"""
        1 <- | abcdef
        <- | abc
        2 <- | xyz
        <- 2
        """,
    )
    assert delivered(recorded) == b"abcxyz\n"


def test_replace_by_a_line() -> None:
    """The fault `replace` can send a given line in place of a frame."""
    check(
        ["""replace 'frame={"jsonrpc":"2.0"}' where=dir:to-client"""],
        r"""
        1 <- | x\r
        <- | {"jsonrpc":"2.0"}\r\n
        """,
    )


def test_replace_sets_members() -> None:
    """The fault `replace` can set JSON members of a frame."""
    rule = """replace 'set={"/params/a"=1, "/params/new/b"=[true], "/params/list/-"="x"}'"""
    recorded = check(
        [rule],
        r"""
        1 <- | {"params":{"a":0,"list":[]}}
        <- | {"params":{"a":1,"list":["x"],"new":{"b":[true]}}}\n
        2 <- | {"params":{"a":0,"list":[],"new":"text"}}
        <- 2
        3 <- | not json
        <- 3
        """,
    )
    assert recorded.engine.fired == {"replace": 1}


def test_error_reply_answers_a_request_of_either_side() -> None:
    """The fault `error-reply` answers a request of the client or of the agent with an error."""
    check(
        ["error-reply code=-32000 message='Authentication required' 'data={a=1}'"],
        r"""
        1 -> #"7" session/new {}
        <- | {"jsonrpc":"2.0","id":"7","error":{"code":-32000,"message":"Authentication required","data":{"a":1}}}\n
        2 <- #0 fs/read_text_file {}
        -> | {"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"Authentication required","data":{"a":1}}}\n
        3 <- session/update {}
        <- 3
        """,  # noqa: E501
    )


def test_a_late_reply_is_overtaken() -> None:
    """If a fault delays a reply, frames after the reply do not wait."""
    check(
        ["reply mode=late latency_ms=2000 where=method:session/prompt"],
        f"""
        1 -> #1 session/prompt {{"sessionId": "s"}}
        -> 1
        2 <- #1 result {{"stopReason": "end_turn"}}
        <- 2 at 2000ms
        3 <- {UPDATE}
        <- 3
        """,
    )


def test_a_reply_can_wait_for_the_cancel_that_gives_up_on_it() -> None:
    """If a fault holds a reply until a cancel, only a cancel in the reply's session releases it."""
    check(
        ["reply mode=late after_cancel=true latency_ms=50 where=method:session/prompt"],
        """
        1 -> #1 session/prompt {"sessionId": "s"}
        -> 1
        2 <- #1 result {"stopReason": "end_turn"}
        3 -> session/cancel {"sessionId": "t"}
        -> 3
        4 -> session/cancel {"sessionId": "s"}
        -> 4
        <- 2 at 50ms
        """,
    )


def test_a_reply_can_wait_for_the_cancel_of_its_request() -> None:
    """If a fault holds a reply until a cancel, the reply also comes after `$/cancel_request`."""
    check(
        ["reply mode=late after_cancel=true latency_ms=0", "ignore-cancel"],
        """
        1 <- #1 session/request_permission {"sessionId": "s"}
        <- 1
        2 -> #1 result {}
        3 -> $/cancel_request {"requestId": 1}
        4 <- $/cancel_request {"requestId": 2}
        5 <- $/cancel_request {"requestId": 1}
        -> 2
        """,
    )


def test_a_reply_that_nobody_gives_up_on_comes_at_the_end() -> None:
    """If a fault holds a reply until a cancel that never comes, the reply is sent at the end.

    The end is the end of the agent's output.
    """
    check(
        ["reply mode=late after_cancel=true latency_ms=0"],
        """
        1 -> #1 session/prompt {"sessionId": "s"}
        -> 1
        2 <- #1 result {}
        <- end
        <- 2
        end of to-client
        """,
    )


def test_a_reply_can_come_twice() -> None:
    """The fault `reply mode=double` sends a reply twice."""
    check(
        ["reply mode=double"],
        """
        1 -> #1 session/prompt {"sessionId": "s"}
        -> 1
        2 <- #1 result {}
        <- 2
        <- 2
        """,
    )


@pytest.mark.parametrize("mode", ["wrong-id", "orphan"])
def test_a_reply_can_have_an_id_that_nobody_knows(mode: str) -> None:
    """The fault `reply` can change the id of a reply."""
    recorded = FaultTranscript([f"reply mode={mode}"])
    raw = b'{"jsonrpc": "2.0", "id": 1, "result": 1e3}\n'
    out = [o.data for o in recorded.feed(Direction.TO_CLIENT, raw) if isinstance(o, ScheduledWrite)]
    if mode == "orphan":
        assert out.pop(0) == raw
    (line,) = out
    rpc_id = json.loads(line)["id"]
    assert rpc_id >= 1_000_000_000
    assert line == raw.replace(b'"id": 1', b'"id": %d' % rpc_id)


def test_ignore_cancel_swallows_cancellations_only() -> None:
    """The fault `ignore-cancel` drops only cancellations."""
    check(
        ["ignore-cancel"],
        """
        1 -> session/cancel {"sessionId": "s"}
        2 -> $/cancel_request {"requestId": 1}
        3 -> session/other {"sessionId": "s"}
        -> 3
        """,
    )


def test_stall_keeps_all_that_follows() -> None:
    """After the fault `stall`, no byte passes in the direction of the fault."""
    recorded = check(
        ["stall where='method:session/update' after=1"],
        f"""
        1 <- {UPDATE}
        <- 1
        2 <- {UPDATE}
        3 <- | more
        4 -> | still
        -> 4
        <- end
        end of to-client
        """,
    )
    assert [(f.frame, f.delivered) for f in recorded.fired] == [(2, None), (3, None)]


def test_a_stalled_direction_gets_no_error_reply_either() -> None:
    """After the fault `stall`, no fault rule adds a line to the stalled direction."""
    recorded = check(
        ["stall where=dir:to-client", "error-reply where=kind:request"],
        """
        1 <- | x
        2 -> #1 session/prompt {}
        """,
    )
    assert [(f.rule, f.received is None) for f in recorded.fired] == [
        ("stall", False),
        ("error-reply", False),
    ]


def test_stray_lines_come_before_the_frame() -> None:
    """The fault `stray-stdout` adds a line before a frame of the agent."""
    check(
        [r"stray-stdout 'text=Loading models...'"],
        r"""
        1 -> #0 initialize {}
        -> 1
        2 <- #0 result {}
        <- | Loading models...\n
        <- 2
        """,
    )


def test_a_stderr_flood_leaves_the_frame_alone() -> None:
    """The fault `stderr-flood` does not change the matched frame."""
    check(
        ["stderr-flood lines=2"],
        """
        1 <- | x
        <- 1
        stderr 50
        """,
    )


@pytest.mark.parametrize(
    "message",
    [
        '{"jsonrpc":"2.0","method":"m","params":{}}',
        '{"jsonrpc":"2.0","id":1,"result":{"a":"é"}}',
        '{"jsonrpc":"2.0","method":"m","params":{"_meta":{"a":1},"b":2}}',
        '{"jsonrpc":"2.0","method":"m","params":{"_meta":{}}}',
    ],
)
def test_a_huge_frame_is_legal_and_just_as_large(message: str) -> None:
    """The fault `huge-frame` pads a frame to exactly the set size."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        assert len({key for key, _ in pairs}) == len(pairs)
        return dict(pairs)

    recorded = FaultTranscript(["huge-frame bytes=70000"])
    (out,) = [o for o in recorded.feed(Direction.TO_CLIENT, message.encode() + b"\n")
              if isinstance(o, ScheduledWrite)]  # fmt: skip
    assert len(out.data) == 70000
    padded = json.loads(out.data, object_pairs_hook=once)
    body = padded.get("params", padded.get("result"))
    assert set(body["_meta"].pop("padding")) == {"x"}
    original = json.loads(message)
    if "_meta" not in original.get("params", {}):
        del body["_meta"]
    assert padded == original


def test_a_huge_frame_needs_a_place_for_the_padding() -> None:
    """The fault `huge-frame` ignores frames that cannot be padded."""
    recorded = check(
        ["huge-frame bytes=60"],
        r"""
        1 <- | {"jsonrpc":"2.0","id":1,"result":null}
        <- 1
        2 <- | {"jsonrpc":"2.0","method":"m","params":{"text":"as long as this"}}
        <- 2
        3 <- | not json
        <- 3
        """,
    )
    assert recorded.engine.fired == {"huge-frame": 0}


def test_limit_data_ends_in_the_middle_of_a_frame() -> None:
    """The fault `limit-data` closes a direction after a number of bytes, even within a frame."""
    recorded = check(
        ["limit-data bytes=6 where=dir:to-client"],
        r"""
        1 <- | abc
        <- 1
        2 <- | defg
        <- | de
        end of to-client
        3 <- | h
        4 -> | i
        -> 4
        <- end
        """,
    )
    assert recorded.engine.fired == {"limit-data": 1}


def test_close_ends_a_direction() -> None:
    """The fault `close` closes the direction of the frame that its rule matches."""
    check(
        ["close where=dir:to-agent after=1"],
        """
        1 -> | a
        -> 1
        2 -> | b
        end of to-agent
        3 -> | c
        4 <- | d
        <- 4
        """,
    )
    check(
        ["truncate keep_bytes=1 newline=false", "close keep_frame=true"],
        """
        1 -> | abc
        -> | a
        end of to-agent
        """,
    )


@pytest.mark.parametrize(
    ("kind", "signum"),
    [
        ("kill", signal.SIGKILL),
        ("pause", signal.SIGSTOP),
        ("resume", signal.SIGCONT),
        ("terminate", signal.SIGTERM),
    ],
)
def test_signals_follow_the_frame(kind: str, signum: int) -> None:
    """If a fault sends a signal to the agent, the matched frame is sent first."""
    check([f"{kind} times=1"], f"1 -> | a\n-> 1\nsignal {signum:d}\n2 -> | b\n-> 2")


def test_terminate_kills_after_a_grace() -> None:
    """The fault `terminate` waits for the grace time between SIGTERM and SIGKILL."""
    check(["terminate grace_ms=2"], "1 -> | a\n-> 1\nsignal 15, then kill 2000000")


def test_exit_ends_everything() -> None:
    """The fault `exit` ends the agent, and nothing more is sent in either direction."""
    check(
        ["exit code=3 where=method:session/prompt"],
        """
        1 -> #1 session/prompt {}
        exit 3
        2 <- | x
        3 -> | y
        """,
    )


def test_exit_after_half_a_frame() -> None:
    """The fault `exit` can send half of the matched frame before it ends the agent."""
    check(
        ["truncate keep_bytes=2 newline=false", "exit keep_frame=true code=0"],
        """
        1 <- | abc
        <- | ab
        exit 0
        """,
    )


# Composition


def test_rules_apply_in_the_order_of_the_plan() -> None:
    """Each fault rule of a plan is applied to the result of the previous rules."""
    check(
        ["truncate keep_bytes=2", "duplicate"],
        r"""
        1 <- | abc
        <- | ab\n
        <- | ab\n
        """,
    )
    check(
        ["duplicate", "drop"],
        """
        1 <- | abc
        """,
    )


def test_a_dropped_frame_sets_off_no_change_but_what_happens_beside_it() -> None:
    """If a fault drops a frame, a later fault rule can still kill the agent at that frame."""
    recorded = check(
        ["drop", "duplicate", "kill times=1", "stray-stdout times=1"],
        r"""
        1 <- | abc
        <- | DEBUG: this is a log line on stdout\n
        signal 9
        """,
    )
    assert recorded.engine.fired == {"drop": 1, "duplicate": 0, "kill": 1, "stray-stdout": 1}


def test_what_happens_beside_a_frame_happens_once() -> None:
    """If a fault copies a frame, a later fault rule still sends only one signal to the agent."""
    check(
        ["duplicate", "stray-stdout text=x", "terminate"],
        r"""
        1 <- | abc
        <- | x\n
        <- 1
        <- 1
        signal 15
        """,
    )


def test_a_line_that_was_made_up_is_no_business_of_later_rules() -> None:
    """If a fault rule adds a line, a later `drop` rule of the plan does not drop this line."""
    check(
        ["stray-stdout text=stray", "drop"],
        r"""
        1 <- | abc
        <- | stray\n
        """,
    )


def test_slow_kinds_add_up() -> None:
    """If two faults slow a frame, their delays add up."""
    check(
        ["latency latency_ms=100", "slice bytes=2 delay_ms=5"],
        r"""
        1 <- | abc
        <- | ab at 100ms
        <- | c\n at 105ms
        """,
    )
    check(
        ["slice bytes=2 delay_ms=5", "latency latency_ms=100"],
        r"""
        1 <- | abc
        <- | ab at 100ms
        <- | c\n at 105ms
        """,
    )
    check(
        ["slice bytes=2 delay_ms=0", "bandwidth bytes_per_s=20"],
        r"""
        1 <- | abc
        <- | a at 50ms
        <- | b at 100ms
        <- | c at 150ms
        <- | \n at 200ms
        """,
    )


def test_every_kind_has_a_playbook() -> None:
    """The module `test_fault_kinds` tests every kind of fault."""
    text = Path(__file__).read_text()
    for kind in KINDS:
        assert f'"{kind}' in text or f'"""{kind}' in text, kind
