# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""Tests how `verify` answers requests of a live agent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.shared.divergence import DivergenceReporter
from tests.playbooks.test_replayed_faults import mark
from tests.support.permission_playbook import (
    ALLOW,
    END,
    LS,
    REJECT,
    START,
    STARTED,
    asking,
    outcome,
    permission,
    read,
    selected,
    write,
)
from tests.support.verify_playbook import verify

if TYPE_CHECKING:
    from tests.support.playbook import Record


def test_faults_of_the_recording_do_not_change_what_is_answered(record: Record) -> None:
    """If a fault changed a request of the recorded agent, `verify` answers the original request."""
    recorded = record(f'{START}<- {read("/a")}\n-> #0 result {{"content": "A"}}\n<- {END}')
    mark(recorded, 6, recorded.raw[6].replace(b"/a", b"/b"))
    live = verify(recorded).check(STARTED)
    assert live.play(f"<- {read('/a')}") == ["-> 7"]
    live = verify(recorded).check(STARTED)
    assert live.play(f"<- {read('/b')}") == ["-> refusal #0"]


def test_an_answer_has_the_live_id(record: Record) -> None:
    """An answer of `verify` has the id of the live request."""
    live = asking(
        record, f'<- {read("/p/f")}\n-> {{"jsonrpc":"2.0" , "id":0,"result":{{"content":"1e3"}}}}'
    )
    live.check(f"""
        <- {read("/p/f", '"uuid-1"')}
        -> {{"jsonrpc":"2.0" , "id":"uuid-1","result":{{"content":"1e3"}}}}
        <- {END}
        -> end
    """)
    assert (live.mismatches, live.informed) == ([], [])


@pytest.mark.parametrize("live_", [read("/p/g"), write("/p/g", "x"), "#0 _x/y {}"])
def test_an_unrecorded_request_is_refused(record: Record, live_: str) -> None:
    """If a request of the agent was not recorded, `verify` refuses it."""
    live = asking(
        record,
        f"""
        <- {permission({}, ALLOW, REJECT)}
        -> {selected("y")}
        <- {read("/p/f")}
        -> #0 result {{"content": "x"}}
        <- {write("/p/f", "y")}
        -> #0 result {{}}
        """,
    )
    live.check(f"""
        <- {live_}
        -> refusal #0
        <- {END}
        -> end
    """)
    (divergence,) = live.divergences
    assert (divergence.kind, divergence.rank, divergence.lane) == ("unmatched", "primary", "s")
    assert len(divergence.near_misses) == ("_x/y" not in live_)


def test_a_request_beyond_the_recorded_number_is_refused(record: Record) -> None:
    """If an agent repeats a request more often than recorded, `verify` refuses it."""
    live = asking(record, f"<- {permission(LS, ALLOW)}\n-> {selected('y')}")
    live.check(f"""
        <- {permission(LS, ALLOW)}
        -> 7
        <- {permission(LS, ALLOW, token=1)}
        -> {outcome(None, 1)}
        <- {END}
        -> end
    """)
    assert live.mismatches == ["exhausted primary in s 6"]
    (miss,) = live.divergences[0].near_misses
    assert (miss.seq, miss.is_played) == (live.divergences[0].seq, True)


def test_a_refusal_describes_the_divergence(record: Record) -> None:
    """If `verify` refuses a request, the error says how the request diverges."""
    again = '<- #7 _x/y {"sessionId": "s"}'
    recorded = record(f"""
        {START}
        6 {again}
        7 -> #7 result 1
        8 <- {read("/p/f")}
        9 -> #0 result {{"content": "x"}}
        10 <- {END}
    """)
    live = verify(recorded)
    live.play("<- #6 _x/z {}", "<- 2", "<- 4", f"<- {read('/p/g')}", again, again)
    sent = [json.loads(line) for line in live.bytes.splitlines()]
    errors = [item["error"] for item in sent if "error" in item]
    assert [error["data"] for error in errors] == [
        {"divergence": "unmatched", "recorded": [], "lane": "connection"},
        {"divergence": "unmatched", "recorded": [recorded.seq(8)], "lane": "s"},
        {"divergence": "exhausted", "recorded": [recorded.seq(6)], "lane": "s"},
    ]
    assert {error["code"] for error in errors} == {-31999}
    assert [error["message"] for error in errors] == [
        f"verify: {divergence.summary}" for divergence in live.divergences
    ]


@pytest.mark.parametrize(
    ("recorded", "other"),
    [
        (write("/p/f", "x"), write("/etc/passwd", "x", "1")),
        (
            '#0 terminal/create {"sessionId": "s", "command": "ls"}',
            '#1 terminal/create {"sessionId": "s", "command": "rm"}',
        ),
        ('#0 fs/read_text_file {"path": "/p/f"}', '#1 fs/read_text_file {"path": "/etc/passwd"}'),
    ],
)
def test_only_a_recorded_request_can_be_exhausted(
    record: Record, recorded: str, other: str
) -> None:
    """`verify` reports a request as repeated too often only if its params were recorded."""
    again = recorded.replace("#0", "#2")
    live = asking(record, f"<- {recorded}\n-> #0 result {{}}")
    live.check(f"""
        <- {recorded}
        -> 7
        <- {other}
        -> refusal #1
        <- {again}
        -> refusal #2
        <- {END}
        -> end
    """)
    assert [divergence.kind for divergence in live.divergences] == ["unmatched", "exhausted"]


def test_a_request_without_a_session_is_found_in_any_lane(record: Record) -> None:
    """If a request names no session, `verify` looks for a recorded request in all sessions."""
    ask = "#%d _x/y {}"
    recorded = record(f"""
        1 -> #0 initialize {{}}
        2 <- {ask % 5}
        3 -> #5 result 1
        4 <- #0 result {{}}
        5 -> #1 session/new {{"cwd": "/p"}}
        6 <- #1 result {{"sessionId": "s"}}
        7 -> #2 session/prompt {{"sessionId": "s"}}
        8 <- {END}
    """)
    live = verify(recorded).check(f"-> 1\n<- {ask % 5}\n-> 3\n<- 4\n-> 5\n<- 6\n-> 7")
    live.check(f"<- {ask % 6}\n-> refusal #6\n<- 8\n-> end")
    assert live.mismatches == ["exhausted primary in s 2"]


def test_another_open_request_does_not_hide_an_exhausted_one(record: Record) -> None:
    """`verify` refuses a repeated request even while a different request is open."""
    create = '#%d terminal/create {"sessionId": "s", "command": "%s"}'
    recorded = f"<- {create % (0, 'ls')}\n-> #0 result {{}}\n<- {create % (1, 'ps')}"
    live = asking(record, f"{recorded}\n-> #1 result {{}}")
    live.check(f"""
        <- {create % (0, "ls")}
        -> 7
        <- {create % (7, "ls")}
        -> refusal #7
        <- {create % (1, "ps")}
        -> 9
        <- {END}
        -> end
    """)
    assert live.mismatches == ["exhausted primary in s 6"]


def test_near_misses_list_ids_last(record: Record) -> None:
    """In its list of similar requests, `verify` shows the differences in ids last."""
    create = '#%d terminal/create {"callId": "%s", "env": [%s], "args": ["%s/a"], "command": "%s", "sessionId": "s"}'
    recorded = record(f"""
        {START}
        6 <- {create % (0, "x", 1, "/p", "cp")}
        7 -> #0 result {{}}
        8 <- {create % (1, "y", 2, "/p", "ls -l")}
        9 -> #1 result {{}}
        10 <- {create % (2, "z", 1, "/q", "ls")}
        11 -> #2 result {{}}
        12 <- {END}
    """)
    live = verify(recorded, roots={"/p": "/live"})
    live.check(STARTED.replace("-> 3", '-> #1 session/new {"cwd": "/live"}'))
    live.check(f"""
        <- {create % (9, "other", 1, "/live", "ls")}
        -> refusal #9
        <- {END}
        -> end
    """)
    misses = live.divergences[0].near_misses
    actual = [(miss.seq, [item.pointer for item in miss.differences]) for miss in misses]
    assert actual == [
        (recorded.seq(6), ["/params/command", "/params/callId"]),
        (recorded.seq(10), ["/params/args/0", "/params/callId"]),
        (recorded.seq(8), ["/params/env/0", "/params/command", "/params/callId"]),
    ]


@pytest.mark.parametrize(
    ("was", "now", "transcript", "came"),
    [
        ("/p", "/p/sub", "/p/a", "/p/sub/b"),
        ("/p", "/q", "/p/a", "/q/b"),
        (".", "/q", "./a", "/q/b"),
        ("/", "/q", "/a", "/q/b"),
    ],
)
def test_a_directory_is_moved_once(
    record: Record, was: str, now: str, transcript: str, came: str
) -> None:
    """`verify` replaces a recorded directory in a path only once.

    This holds even if the live directory contains the name of the recorded one.
    """
    start = START.replace('"/p"', f'"{was}"')
    recorded = record(f'{start}\n<- {read(transcript)}\n-> #0 result {{"content": "A"}}\n<- {END}')
    live = verify(recorded, roots={was: now})
    live.check(STARTED.replace("-> 3", f'-> #1 session/new {{"cwd": "{now}"}}'))
    live.check(f"<- {read(came)}\n-> refusal #0")
    ((miss,),) = [divergence.near_misses for divergence in live.divergences]
    (difference,) = miss.differences
    assert (difference.recorded, difference.live) == (f'"{now}/a"', f'"{came}"')
    assert difference.recorded_as == f'"{transcript}"'
    assert [*DivergenceReporter("agent").lines_of(live.divergences[0])][-1] == (
        f'    /params/path: expected "{now}/a" (recorded as "{transcript}"), came "{came}"'
    )


def test_near_misses_of_any_params_are_found(record: Record) -> None:
    """If `verify` refuses a deeply nested request, its report lists the similar recorded one."""
    deep = '{"a": ' * 700 + "1" + "}" * 700
    ask = '#%d _x/%s {"sessionId": "s", "path": "/p", "x": %s}'
    live = asking(record, f"<- {write('/p/f', 'x')}\n-> #0 result {{}}", roots={"/p": "/p"})
    live.check(f"""
        <- #7 fs/write_text_file {{"sessionId": "s", "path": {deep}}}
        -> refusal #7
        <- {ask % (8, "y", deep)}
        -> refusal #8
        <- {END}
        -> end
    """)
    assert len(live.divergences[0].near_misses) == 1


def test_a_lenient_client_gives_the_next_answer_of_the_method(record: Record) -> None:
    """With `--lenient`, `verify` answers a request with the next answer recorded for its method."""
    live = asking(record, f'<- {read("/p/f")}\n-> #0 result {{"content": "x"}}', lenient=True)
    live.check(f"""
        <- {read("/p/g")}
        -> 7
        <- {END}
        -> end
    """)
    assert live.mismatches == []


def test_ignored_places_do_not_count_for_equality(record: Record) -> None:
    """`verify` treats two requests as equal if they differ only in values that `--ignore` names."""
    call = '#%d elicitation/create {"sessionId": "s", "x": %d, "t": %d}'
    live = asking(
        record,
        f"""
        <- {call % (0, 1, 1)}
        -> #0 result {{"action": "cancel"}}
        <- {call % (1, 2, 2)}
        -> #1 result {{"action": "cancel"}}
        """,
        ignored=("/params/t",),
    )
    live.check(f"""
        <- {call % (1, 2, 7)}
        .. 1s
        -> 9
        <- {call % (0, 1, 8)}
        -> 7
        <- {END}
        -> end
    """)


@pytest.mark.parametrize(
    ("asked", "is_answered"),
    [
        ('"mode": "form", "message": "Deploy to staging?"', True),
        ('"message": "Deploy to staging?", "mode": "form", "_meta": {"n": 1}', True),
        ('"mode": "form", "message": "Deploy to production?"', False),
        ('"mode": "form", "message": "Deploy to staging?", "requestedSchema": {"x": 1}', False),
        ('"mode": "url", "message": "Deploy to staging?", "url": "https://x"', False),
    ],
)
def test_only_the_question_that_was_accepted_is_accepted(
    record: Record, asked: str, is_answered: bool
) -> None:
    """If a form was accepted in the recording, `verify` accepts no other form."""
    call = '#0 elicitation/create {"sessionId": "s", %s}'
    recorded = call % '"mode": "form", "message": "Deploy to staging?"'
    live = asking(record, f'<- {recorded}\n-> #0 result {{"action": "accept", "content": {{}}}}')
    sent = live.play(f"<- {call % asked}")
    assert sent == (["-> 7"] if is_answered else ["-> refusal #0"])


def test_requests_to_run_commands_may_come_in_another_order(record: Record) -> None:
    """If requests to run commands come in another order, `verify` gives each its own answer."""
    create = '#%d terminal/create {"sessionId": "s", "command": "%s"%s}'
    live = asking(
        record,
        f"""
        <- {create % (0, "ls", "")}
        -> #0 result {{"terminalId": "t1"}}
        <- {create % (1, "ps", "")}
        -> #1 result {{"terminalId": "t2"}}
        <- #2 terminal/output {{"sessionId": "s", "terminalId": "t2"}}
        -> #2 result {{"output": "two"}}
        <- #3 terminal/output {{"sessionId": "s", "terminalId": "t1"}}
        -> #3 result {{"output": "one"}}
        """,
    )
    live.check(f"""
        <- {create % (1, "ps", ', "outputByteLimit": 9')}
        .. 1s
        -> 9
        <- {create % (0, "ls", "")}
        -> 7
        <- #3 terminal/output {{"sessionId": "s", "terminalId": "t1"}}
        .. 1s
        -> 13
        <- #2 terminal/output {{"sessionId": "s", "terminalId": "t2"}}
        -> 11
        <- {END}
        -> end
    """)
    assert live.mismatches == []


def test_a_request_without_recorded_answer_gets_none(record: Record) -> None:
    """If the recorded client did not answer a request, `verify` does not answer it."""
    live = asking(record, "<- #0 _x/y {}")
    live.check(f"""
        <- #7 _x/y {{}}
        <- {END}
        -> end
    """)
    assert live.mismatches == []


def test_requests_in_a_batch_are_answered_in_a_batch(record: Record) -> None:
    """`verify` answers a JSON-RPC batch of requests by a batch."""
    asked = '[{"jsonrpc": "2.0", "id": %s, "method": "_x/a"}, {"jsonrpc": "2.0", "id": %s, "method": "_x/b"}]'
    answered = (
        '[{"jsonrpc": "2.0", "id": %s, "result": 1}, {"jsonrpc": "2.0", "id": %s, "result": 2}]'
    )
    live = asking(record, f"<- {asked % (0, 1)}\n-> {answered % (0, 1)}")
    live.check(f"""
        <- {asked % ('"a"', '"b"')}
        -> {answered % ('"a"', '"b"')}
        <- {END}
        -> end
    """)
    assert live.mismatches == []


def test_an_answer_before_its_request_is_withheld_until_that_comes(record: Record) -> None:
    """If an answer was recorded before its request, `verify` sends the answer after the request."""
    recorded = record(f'{START}-> #0 result {{"content": "A"}}\n<- {read("/a")}\n<- {END}')
    live = verify(recorded).check(STARTED)
    assert live.informed == ["withheld in connection 6"]
    assert live.divergences[0].summary.endswith(
        "was recorded before its request; it is sent when the request comes"
    )
    assert live.play(f"<- {read('/b')}") == ["-> refusal #0"]
    assert live.play(f"<- {read('/a', '3')}") == [
        '-> {"jsonrpc": "2.0", "id": 3, "result": {"content": "A"}}'
    ]
    assert live.play(f"<- {END}") == ["-> end"]


def test_an_answer_without_a_request_is_withheld(record: Record) -> None:
    """`verify` does not send a recorded answer if the agent has not sent the request."""
    recorded = record(f"""
        {START}
        -> #"none" result {{"content": "stray"}}
        <- {read("/a")}
        -> #0 result {{"content": "A"}}
        -> #0 result {{"content": "again"}}
        <- {read("/b")}
        <- {END}
    """)
    live = verify(recorded).check(STARTED)
    assert live.informed == ["withheld in connection 6", "withheld in connection 9"]
    live.check(f"""
        <- {read("/a")}
        -> 8
        <- {read("/b")}
        <- {END}
        -> end
    """)
    assert live.report.unsaid == 2
    assert live.report.is_played_out
