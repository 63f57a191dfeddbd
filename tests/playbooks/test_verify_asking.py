# ruff: noqa: E501  (a line of a transcript is as long as its message)
"""What a live agent asks of the recorded client, and what it is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.playbooks.test_replayed_faults import mark
from tests.verify_book import LiveAgent, verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.playbook import Book

START = """
    1 -> #0 initialize {"protocolVersion": 1}
    2 <- #0 result {"protocolVersion": 1}
    3 -> #1 session/new {"cwd": "/p"}
    4 <- #1 result {"sessionId": "s"}
    5 -> #2 session/prompt {"sessionId": "s"}
"""
STARTED = """
    -> 1
    <- 2
    -> 3
    <- 4
    -> 5
"""
END = '#2 result {"stopReason": "end_turn"}'


def asking(record: Callable[..., Book], recorded: str, **options: object) -> LiveAgent:
    """A verification in which a prompt has just gone out; the turn's frames are numbered from 6."""
    live = verify(record(f"{START}\n{recorded}\n<- {END}"), **options)
    return live.check(STARTED)


def options(*named: str) -> str:
    """Options of a permission request, each ``id:kind`` or ``id:kind:name``."""
    words = [one.split(":") for one in named]
    items = (
        f'{{"optionId": "{w[0]}", "kind": "{w[1]}", "name": "{w[2] if len(w) > 2 else w[1]}"}}'
        for w in words
    )
    return f"[{', '.join(items)}]"


def permission(*named: str, token: str = "0", call: str = "c") -> str:
    """A permission request."""
    tool = f'"toolCall": {{"toolCallId": "{call}"}}'
    params = f'{{"sessionId": "s", {tool}, "options": {options(*named)}}}'
    return f"#{token} session/request_permission {params}"


def selected(option: str, token: str = "0") -> str:
    """The answer that chooses an option."""
    return f'#{token} result {{"outcome": {{"outcome": "selected", "optionId": "{option}"}}}}'


def read(path: str, token: str = "0", **more: int) -> str:
    """A request for a file."""
    rest = "".join(f', "{key}": {value}' for key, value in more.items())
    return f'#{token} fs/read_text_file {{"sessionId": "s", "path": "{path}"{rest}}}'


def write(path: str, text: str, token: str = "0") -> str:
    """A request to write a file."""
    params = f'{{"sessionId": "s", "path": "{path}", "content": "{text}"}}'
    return f"#{token} fs/write_text_file {params}"


def content(text: str, token: str = "0") -> str:
    """The answer to a request for a file, as we write it."""
    return f'{{"jsonrpc":"2.0","id":{token},"result":{{"content":"{text}"}}}}'


def test_the_agent_is_answered_what_it_asked_and_not_what_faults_made_of_it(
    record: Callable[..., Book],
) -> None:
    """One request arrived as another one, and one was made up."""
    book = record(f'{START}<- {read("/a")}\n-> #0 result {{"content": "A"}}\n<- {END}')
    mark(book, 6, book.raw[6].replace(b"/a", b"/b"))
    live = verify(book).check(STARTED)
    assert live.play(f"<- {read('/a')}") == ["-> 7"]
    live = verify(book).check(STARTED)
    assert live.play(f"<- {read('/b')}") == ["-> refusal #0"]


ALLOW, REJECT = "y:allow_once", "n:reject_once"
WHOLE, SECOND, THIRD = r"1\n2\n3\n", r"2\n", r"3\n"


def test_an_answer_repeats_the_live_token(record: Callable[..., Book]) -> None:
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


@pytest.mark.parametrize(
    ("recorded", "chosen", "live_options", "answer"),
    [
        ((ALLOW, REJECT), "y", (ALLOW, REJECT), "y"),
        ((ALLOW, REJECT), "y", ("1:allow_once", "2:reject_once"), "1"),
        ((ALLOW, REJECT), "n", ("1:allow_once", "2:reject_once"), "2"),
        ((ALLOW, REJECT), "y", ("y:reject_once", "z:allow_once"), "z"),
        (
            ("1:allow_once:All", "2:allow_once:One"),
            "2",
            ("x:allow_once:All", "z:allow_once:One"),
            "z",
        ),
        (
            ("1:allow_once:All", "2:allow_once:One"),
            "2",
            ("2:allow_once:A", "1:allow_once:One"),
            "2",
        ),
    ],
)
def test_the_same_choice_is_made(
    record: Callable[..., Book],
    recorded: tuple[str, ...],
    chosen: str,
    live_options: tuple[str, ...],
    answer: str,
) -> None:
    """The same option, unless its id means another kind now; then one of its kind, by its name."""
    live = asking(record, f"<- {permission(*recorded)}\n-> {selected(chosen)}")
    live.check(f"""
        <- {permission(*live_options, call="other")}
        -> {7 if answer == chosen else selected(answer)}
        <- {END}
        -> end
    """)
    assert live.found == []


def test_a_choice_that_is_not_offered_is_a_departure(record: Callable[..., Book]) -> None:
    """What was allowed cannot be allowed, and nobody guesses: the answer is cancelled."""
    live = asking(record, f"<- {permission(ALLOW, REJECT)}\n-> {selected('y')}", lenient=True)
    live.check(f"""
        <- {permission(REJECT)}
        -> {{"jsonrpc":"2.0","id":0,"result":{{"outcome":{{"outcome":"cancelled"}}}}}}
        <- {END}
        -> end
    """)
    assert live.found == ["outcome-differs primary in s 7"]


@pytest.mark.parametrize("live_", [read("/p/g"), write("/p/g", "x"), "#0 _x/y {}"])
def test_what_was_not_recorded_is_refused(record: Callable[..., Book], live_: str) -> None:
    """With an error, so that nobody waits; and it is told what is like it."""
    live = asking(
        record,
        f"""
        <- {permission(ALLOW, REJECT)}
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
    (departure,) = live.departures
    assert (departure.kind, departure.rank, departure.lane) == ("unmatched", "primary", "s")
    assert len(departure.near_misses) == ("_x/y" not in live_)


def test_what_is_asked_too_often_is_refused(record: Callable[..., Book]) -> None:
    """And that is told from what was never asked."""
    live = asking(record, f"<- {permission(ALLOW)}\n-> {selected('y')}")
    live.check(f"""
        <- {permission(ALLOW)}
        -> 7
        <- {permission(ALLOW, token="1")}
        -> refusal #1
        <- {END}
        -> end
    """)
    assert live.found == ["exhausted primary in s 6"]
    (miss,) = live.departures[0].near_misses
    assert (miss.seq, miss.is_played) == (live.departures[0].seq, True)


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
    record: Callable[..., Book], recorded: str, other: str
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
    assert [one.kind for one in live.departures] == ["unmatched", "exhausted"]


def test_what_is_left_does_not_hide_what_is_used_up(record: Callable[..., Book]) -> None:
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


def test_what_is_like_it_is_told_with_what_matters_first(record: Callable[..., Book]) -> None:
    """What differs only by the directories that stand for one another does not count."""
    create = '#%d terminal/create {"callId": "%s", "env": [%s], "args": ["%s/a"], "command": "%s", "sessionId": "s"}'
    book = record(f"""
        {START}
        6 <- {create % (0, "x", 1, "/p", "cp")}
        7 -> #0 result {{}}
        8 <- {create % (1, "y", 2, "/p", "ls -l")}
        9 -> #1 result {{}}
        10 <- {create % (2, "z", 1, "/q", "ls")}
        11 -> #2 result {{}}
        12 <- {END}
    """)
    live = verify(book, roots={"/p": "/live"})
    live.check(STARTED.replace("-> 3", '-> #1 session/new {"cwd": "/live"}'))
    live.check(f"""
        <- {create % (9, "other", 1, "/live", "ls")}
        -> refusal #9
        <- {END}
        -> end
    """)
    misses = live.departures[0].near_misses
    told = [(miss.seq, [one.pointer for one in miss.differences]) for miss in misses]
    assert told == [
        (book.seq(6), ["/params/command", "/params/callId"]),
        (book.seq(10), ["/params/args/0", "/params/callId"]),
        (book.seq(8), ["/params/command", "/params/env/0", "/params/callId"]),
    ]


def test_near_misses_compare_what_can_be_compared(record: Callable[..., Book]) -> None:
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
    assert len(live.departures[0].near_misses) == 1


def test_a_lenient_client_answers_with_what_is_next(record: Callable[..., Book]) -> None:
    """The next one of the method will do."""
    live = asking(record, f'<- {read("/p/f")}\n-> #0 result {{"content": "x"}}', lenient=True)
    live.check(f"""
        <- {read("/p/g")}
        -> 7
        <- {END}
        -> end
    """)
    assert live.found == []


def test_ignored_places_do_not_count(record: Callable[..., Book]) -> None:
    """For equality; identity alone would have taken the first."""
    call = '#%d session/request_permission {"sessionId": "s", "x": %d, "t": %d, "options": []}'
    live = asking(
        record,
        f"""
        <- {call % (0, 1, 1)}
        -> #0 result {{"outcome": {{"outcome": "cancelled"}}}}
        <- {call % (1, 2, 2)}
        -> #1 result {{"outcome": {{"outcome": "cancelled"}}}}
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


def test_a_file_that_is_read_again_is_known(record: Callable[..., Book]) -> None:
    """Its content is the recorded one, or a part of it; that is information, and no departure."""
    live = asking(record, f'<- {read("/p/f")}\n-> #0 result {{"content": "1\\n2\\n3\\n"}}')
    live.check(f"""
        <- {read("/p/f")}
        -> 7
        <- {read("/p/f", "1")}
        -> {content(WHOLE, "1")}
        <- {read("/p/f", "2", line=2, limit=1)}
        -> {content(SECOND, "2")}
        <- {read("/p/f", "3", line=3)}
        -> {content(THIRD, "3")}
        <- {read("/p/f", "4", limit=9)}
        -> {content(WHOLE, "4")}
        <- {END}
        -> end
    """)
    assert live.found == []
    assert live.informed == ["served in s"] * 4


def test_a_part_of_a_file_is_known_from_the_whole(record: Callable[..., Book]) -> None:
    """Also if the whole has not been read yet; but no whole from a part."""
    live = asking(record, f'<- {read("/p/f")}\n-> #0 result {{"content": "1\\n2"}}')
    live.check(f"""
        <- {read("/p/f", line=2)}
        -> {content("2")}
        <- {END}
        -> end
    """)
    assert live.found == []
    live = asking(record, f'<- {read("/p/f", limit=1)}\n-> #0 result {{"content": "1\\n"}}')
    live.check(f"""
        <- {read("/p/f")}
        -> refusal #0
        <- {END}
        -> end
    """)


def test_what_the_agent_has_written_it_can_read(record: Callable[..., Book]) -> None:
    """What it wrote in this run, and not what it did in the recording."""
    live = asking(record, f"<- {write('/p/f', 'old')}\n-> #0 result null")
    live.check(f"""
        <- {write("/p/f", "new")}
        -> 7
        <- {read("/p/f", "1")}
        -> {content("new", "1")}
        <- {END}
        -> end
    """)
    assert live.found == []


def test_a_write_that_was_refused_leaves_nothing(record: Callable[..., Book]) -> None:
    """Neither one that the recorded client refused, nor one that was never asked for."""
    live = asking(record, f'<- {write("/p/f", "x")}\n-> #0 error {{"code": 1, "message": "no"}}')
    live.check(f"""
        <- {write("/p/f", "x")}
        -> 7
        <- {read("/p/f", "1")}
        -> refusal #1
        <- {write("/p/g", "x", "2")}
        -> refusal #2
        <- {read("/p/g", "3")}
        -> refusal #3
        <- {END}
        -> end
    """)


def test_a_command_is_told_by_its_words(record: Callable[..., Book]) -> None:
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


def test_what_comes_after_a_cancellation_is_cancelled(record: Callable[..., Book]) -> None:
    """A permission that was given before the user pressed stop, or never, is not given after."""
    live = asking(
        record,
        f"""
        <- {permission(ALLOW)}
        -> {selected("y")}
        -> session/cancel {{"sessionId": "s"}}
        """,
    )
    gone = '{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"cancelled"}}}'
    live.check(f"""
        .. 27s
        -> 8
        <- {permission(ALLOW)}
        -> {gone % 0}
        <- {permission(REJECT, token="1")}
        -> {gone % 1}
        <- {END}
        -> end
    """)
    assert live.found == []
    assert live.informed == ["early in s 8", "late in s 7", "late in s"]


def test_a_permission_that_is_open_is_closed_by_a_cancellation(record: Callable[..., Book]) -> None:
    """As the recorded client did, or as a client must."""
    live = asking(
        record,
        f"""
        <- {permission(ALLOW)}
        -> session/cancel {{"sessionId": "s"}}
        -> #0 result {{"outcome": {{"outcome": "cancelled"}}}}
        """,
    )
    live.check(f"""
        <- {permission(ALLOW)}
        -> 7
        -> 8
        <- {END}
        -> end
    """)
    live = asking(record, f'<- {permission(ALLOW)}\n-> session/cancel {{"sessionId": "s"}}')
    live.check(f"""
        <- {permission(ALLOW)}
        -> 7
        -> {{"jsonrpc":"2.0","id":0,"result":{{"outcome":{{"outcome":"cancelled"}}}}}}
        <- {END}
        -> end
    """)
    assert live.found == []


def test_what_was_never_answered_is_not_answered(record: Callable[..., Book]) -> None:
    """The recorded client did not answer either, and the agent went on."""
    live = asking(record, "<- #0 _x/y {}")
    live.check(f"""
        <- #7 _x/y {{}}
        <- {END}
        -> end
    """)
    assert live.found == []


def test_requests_in_a_batch_are_answered_in_one(record: Callable[..., Book]) -> None:
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
