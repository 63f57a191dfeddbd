"""Batches: of the agent's, and of the client's, of which the agent has asked for a part."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.permission_playbook import END, START, STARTED, UPDATE, asking, read
from tests.verify_playbook import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.playbook import RecordedTranscript

BOTH = f"""
    <- {read("/p/a", "10")}
    <- {read("/p/b", "11")}
    -> [%s, %s]
"""


def answer(token: object, text: str) -> str:
    """An answer to a request for a file, with spaces that are nobody else's."""
    return f'{{ "id":{json.dumps(token)},"jsonrpc":"2.0", "result":{{"content":"{text}"}}}}'


def test_what_was_not_asked_for_is_left_out_of_a_batch(
    record: Callable[..., RecordedTranscript],
) -> None:
    """It is said when it is asked for; what else has such an id now, is not answered with it."""
    live = asking(record, BOTH % (answer(10, "A"), answer(11, "B")))
    live.check(f"""
        <- {read("/p/a", "11")}
        .. 1s
        -> [{answer(11, "A")}]
        <- {read("/p/b", "51")}
        -> [{answer(51, "B")}]
        <- {END}
        -> end
    """)
    assert (live.found, live.informed) == ([], ["early in s 8"])
    assert (live.report.is_played_out, live.report.unsaid) == (True, 0)


def test_what_is_left_of_a_batch_may_never_be_said(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Then it counts as any answer that was not asked for."""
    live = asking(record, BOTH % (answer(10, "A"), answer(11, "B")))
    live.check(f"<- {read('/p/b', '11')}\n.. 1s\n-> [{answer(11, 'B')}]\n<- {END}\n-> end")
    assert (live.found, live.informed) == ([], ["early in s 8"])
    assert (live.report.is_played_out, live.report.unsaid) == (True, 1)


def test_a_batch_that_asks_does_not_wait_for_what_it_answers(
    record: Callable[..., RecordedTranscript],
) -> None:
    """What is asked for later is answered with the rest of it."""
    ask = '{"jsonrpc": "2.0", "id": 7, "method": "_x/y"}'
    story = f"<- {read('/p/a', '10')}\n-> [{answer(10, 'A')}, {ask}]\n<- #7 result 1"
    live = asking(record, story)
    live.check(f"""
        .. 27s
        -> [{ask}]
        <- {read("/p/a", "51")}
        -> [{answer(51, "A")}]
        <- #7 result 1
        <- {END}
        -> end
    """)
    assert (live.found, live.informed) == ([], ["early in s 7"])


def test_a_batch_of_notifications_is_waited_for(record: Callable[..., RecordedTranscript]) -> None:
    """As one thing that the agent said."""
    recorded = record("""
        1 -> #0 initialize {}
        2 <- #0 result {}
        3 -> #1 session/new {"cwd": "/p"}
        4 <- #1 result {"sessionId": "s"}
        5 <- [{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s"}}]
        6 -> #2 session/prompt {"sessionId": "s"}
        7 <- #2 result {}
    """)
    live = verify(recorded).check("-> 1\n<- 2\n-> 3\n<- 4\n.. 4s\n<- 5\n-> 6\n<- 7\n-> end")
    assert (live.found, live.informed) == ([], [])


def test_a_batch_that_answers_begins_anew(record: Callable[..., RecordedTranscript]) -> None:
    """What is said after an answer is counted from there."""
    end = '{"jsonrpc": "2.0", "id": 2, "result": {}}'
    update = '{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s"}}'
    recorded = record(f"""
        {START}
        6 <- [{end}, {update}]
        7 <- {UPDATE % 1}
        8 -> #3 session/prompt {{"sessionId": "s"}}
        9 <- #3 result {{}}
    """)
    live = verify(recorded).check(f"{STARTED}\n<- 6\n.. 4s\n<- 7\n-> 8\n<- 9\n-> end")
    assert (live.found, live.informed) == ([], [])
