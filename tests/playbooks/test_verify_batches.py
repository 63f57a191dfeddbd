"""Tests how `verify` sends and answers JSON-RPC batches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.support.permission_playbook import END, START, STARTED, UPDATE, asking, read
from tests.support.verify_playbook import verify

if TYPE_CHECKING:
    from tests.support.playbook import Record

BOTH = f"""
    <- {read("/p/a", "10")}
    <- {read("/p/b", "11")}
    -> [%s, %s]
"""


def answer(token: object, text: str) -> str:
    """Returns the recorded answer to a request for a file, with unusual spaces."""
    return f'{{ "id":{json.dumps(token)},"jsonrpc":"2.0", "result":{{"content":"{text}"}}}}'


def test_a_batch_is_sent_without_answers_that_were_not_requested(record: Record) -> None:
    """Of a recorded JSON-RPC batch of answers, `verify` sends only the answers to live requests."""
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
    assert (live.mismatches, live.informed) == ([], ["early in s 8"])
    assert (live.report.is_played_out, live.report.unsaid) == (True, 0)


def test_answers_without_a_request_are_never_sent(record: Record) -> None:
    """`verify` never sends a recorded answer in a JSON-RPC batch if the request did not come."""
    live = asking(record, BOTH % (answer(10, "A"), answer(11, "B")))
    live.check(f"<- {read('/p/b', '11')}\n.. 1s\n-> [{answer(11, 'B')}]\n<- {END}\n-> end")
    assert (live.mismatches, live.informed) == ([], ["early in s 8"])
    assert (live.report.is_played_out, live.report.unsaid) == (True, 1)


def test_a_batch_with_a_request_does_not_wait_for_its_answers(record: Record) -> None:
    """If a recorded JSON-RPC batch has a request and answers, `verify` sends the request first."""
    ask = '{"jsonrpc": "2.0", "id": 7, "method": "_x/y"}'
    conversation = f"<- {read('/p/a', '10')}\n-> [{answer(10, 'A')}, {ask}]\n<- #7 result 1"
    live = asking(record, conversation)
    live.check(f"""
        .. 27s
        -> [{ask}]
        <- {read("/p/a", "51")}
        -> [{answer(51, "A")}]
        <- #7 result 1
        <- {END}
        -> end
    """)
    assert (live.mismatches, live.informed) == ([], ["early in s 7"])


def test_a_batch_of_notifications_is_waited_for(record: Record) -> None:
    """`verify` sends a prompt only after a JSON-RPC batch of notifications recorded before it."""
    recorded = record("""
        1-4 session
        5 <- [{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s"}}]
        6 -> #2 session/prompt {"sessionId": "s"}
        7 <- #2 result {}
    """)
    live = verify(recorded).check("-> 1\n<- 2\n-> 3\n<- 4\n.. 4s\n<- 5\n-> 6\n<- 7\n-> end")
    assert (live.mismatches, live.informed) == ([], [])


def test_updates_after_a_batch_with_an_answer_are_awaited(record: Record) -> None:
    """If an agent answers in a JSON-RPC batch, `verify` waits for the updates after the batch."""
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
    assert (live.mismatches, live.informed) == ([], [])
