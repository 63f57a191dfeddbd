# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""What a live agent asks of the recorded client, and what it is answered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.permission_playbook import (
    ALLOW,
    END,
    LS,
    REJECT,
    START,
    STARTED,
    asking,
    leave,
    outcome,
    read,
    selected,
    write,
)
from tests.playbooks.test_replayed_faults import mark
from tests.verify_playbook import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.playbook import RecordedTranscript


def test_the_agent_is_answered_what_it_asked_and_not_what_faults_made_of_it(
    record: Callable[..., RecordedTranscript],
) -> None:
    """One request arrived as another one, and one was made up."""
    recorded = record(f'{START}<- {read("/a")}\n-> #0 result {{"content": "A"}}\n<- {END}')
    mark(recorded, 6, recorded.raw[6].replace(b"/a", b"/b"))
    live = verify(recorded).check(STARTED)
    assert live.play(f"<- {read('/a')}") == ["-> 7"]
    live = verify(recorded).check(STARTED)
    assert live.play(f"<- {read('/b')}") == ["-> refusal #0"]


def test_an_answer_repeats_the_live_token(record: Callable[..., RecordedTranscript]) -> None:
    """However the agent numbers its requests now; no other byte changes."""
    live = asking(
        record, f'<- {read("/p/f")}\n-> {{"jsonrpc":"2.0" , "id":0,"result":{{"content":"1e3"}}}}'
    )
    live.check(f"""
        <- {read("/p/f", '"uuid-1"')}
        -> {{"jsonrpc":"2.0" , "id":"uuid-1","result":{{"content":"1e3"}}}}
        <- {END}
        -> end
    """)
    assert (live.found, live.informed) == ([], [])


@pytest.mark.parametrize("live_", [read("/p/g"), write("/p/g", "x"), "#0 _x/y {}"])
def test_what_was_not_recorded_is_refused(
    record: Callable[..., RecordedTranscript], live_: str
) -> None:
    """With an error, so that nobody waits; and it is told what is like it."""
    live = asking(
        record,
        f"""
        <- {leave({}, ALLOW, REJECT)}
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


def test_what_is_asked_too_often_is_refused(record: Callable[..., RecordedTranscript]) -> None:
    """And that is told from what was never asked."""
    live = asking(record, f"<- {leave(LS, ALLOW)}\n-> {selected('y')}")
    live.check(f"""
        <- {leave(LS, ALLOW)}
        -> 7
        <- {leave(LS, ALLOW, token=1)}
        -> {outcome(None, 1)}
        <- {END}
        -> end
    """)
    assert live.found == ["exhausted primary in s 6"]
    (miss,) = live.divergences[0].near_misses
    assert (miss.seq, miss.is_played) == (live.divergences[0].seq, True)


def test_a_refusal_says_what_it_is(record: Callable[..., RecordedTranscript]) -> None:
    """Its kind, the recorded requests that are like it, and where it was asked, besides a text."""
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
    said = [json.loads(line) for line in live.bytes.splitlines()]
    errors = [one["error"] for one in said if "error" in one]
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
def test_only_what_was_recorded_can_be_asked_too_often(
    record: Callable[..., RecordedTranscript], recorded: str, other: str
) -> None:
    """Another one of the method was never recorded, however many of them the agent has made."""
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
    assert [one.kind for one in live.divergences] == ["unmatched", "exhausted"]


def test_what_names_no_session_is_known_everywhere(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Whichever session somebody spoke of last."""
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
    assert live.found == ["exhausted primary in s 2"]


def test_what_is_left_does_not_hide_what_is_used_up(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Another request of the method may still come."""
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
    assert live.found == ["exhausted primary in s 6"]


def test_what_is_like_it_is_told_with_what_matters_first(
    record: Callable[..., RecordedTranscript],
) -> None:
    """What differs only by the directories that stand for one another does not count."""
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
    told = [(miss.seq, [one.pointer for one in miss.differences]) for miss in misses]
    assert told == [
        (recorded.seq(6), ["/params/command", "/params/callId"]),
        (recorded.seq(10), ["/params/args/0", "/params/callId"]),
        (recorded.seq(8), ["/params/env/0", "/params/command", "/params/callId"]),
    ]


def test_near_misses_compare_what_can_be_compared(
    record: Callable[..., RecordedTranscript],
) -> None:
    """An agent may send whatever it likes."""
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


def test_a_lenient_client_answers_with_what_is_next(
    record: Callable[..., RecordedTranscript],
) -> None:
    """The next one of the method will do."""
    live = asking(record, f'<- {read("/p/f")}\n-> #0 result {{"content": "x"}}', lenient=True)
    live.check(f"""
        <- {read("/p/g")}
        -> 7
        <- {END}
        -> end
    """)
    assert live.found == []


def test_ignored_places_do_not_count(record: Callable[..., RecordedTranscript]) -> None:
    """For equality; identity alone would have taken the first."""
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
    record: Callable[..., RecordedTranscript], asked: str, is_answered: bool
) -> None:
    """What a person has filled in or agreed to is no answer to another question."""
    call = '#0 elicitation/create {"sessionId": "s", %s}'
    recorded = call % '"mode": "form", "message": "Deploy to staging?"'
    live = asking(record, f'<- {recorded}\n-> #0 result {{"action": "accept", "content": {{}}}}')
    said = live.play(f"<- {call % asked}")
    assert said == (["-> 7"] if is_answered else ["-> refusal #0"])


def test_a_command_is_told_by_its_words(record: Callable[..., RecordedTranscript]) -> None:
    """Two that were started in one order may be started in the other."""
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
    assert live.found == []


def test_what_was_never_answered_is_not_answered(record: Callable[..., RecordedTranscript]) -> None:
    """The recorded client did not answer either, and the agent went on."""
    live = asking(record, "<- #0 _x/y {}")
    live.check(f"""
        <- #7 _x/y {{}}
        <- {END}
        -> end
    """)
    assert live.found == []


def test_requests_in_a_batch_are_answered_in_one(record: Callable[..., RecordedTranscript]) -> None:
    """As they were; each answer has the live id of its request."""
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
    assert live.found == []
