"""`verify` measures the progress of a live agent by its text, however the text is split."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from acp_proxy.playback.shared.playback_options import Order
from tests.support.permission_playbook import HAS_SESSION, SESSION, UPDATE
from tests.support.verify_playbook import verify

if TYPE_CHECKING:
    from tests.support.playbook import Record


def chunk(text: str, kind: str = "agent_message_chunk") -> str:
    """Returns an update with a chunk of text."""
    content = f'{{"type": "text", "text": "{text}"}}'
    update = f'{{"sessionUpdate": "{kind}", "content": {content}}}'
    return f'session/update {{"sessionId": "s", "update": {update}}}'


FIRST_HALF, SECOND_HALF = r"ab\ud83d", r"\ude00"
STATE = 'session/update {"sessionId": "s", "update": {"sessionUpdate": "%s"}}'
STOPPED = f"""{SESSION}
    5 -> #2 session/prompt {{"sessionId": "s"}}
    6 <- {chunk("Let me ")}
    7 <- {chunk("think")}
    8 <- {UPDATE % 1}
    9 <- {chunk("so it is")}
    10 -> session/cancel {{"sessionId": "s"}}
    11 <- #2 result {{"stopReason": "cancelled"}}
"""


@pytest.mark.parametrize(
    "cut",
    [
        [["Let me think"], ["so it is"]],
        [["L", "et", " ", "me", " thi", "nk"], ["so", " ", "it", " is"]],
        [["", "Let me think", ""], ["so it", "", " is"]],
        [["Let us see"], ["so it was"]],
        [["I would say that this takes a while"], ["so", " it is"]],
    ],
)
def test_the_cutting_of_a_text_does_not_matter(record: Record, cut: list[list[str]]) -> None:
    """However a text is cut into chunks, `verify` cancels after the same length of text."""
    first, (*before, last) = ([chunk(text) for text in texts] for texts in cut)
    sent = "\n".join(f"<- {what}" for what in [*first, UPDATE % 2, *before])
    live = verify(record(STOPPED)).check(f"{HAS_SESSION}\n-> 5\n{sent}\n.. 9s")
    live.check(f"<- {last}\n-> 10\n<- 11\n-> end")
    assert (live.mismatches, live.informed) == ([], [])


def test_a_character_may_be_cut_in_two(record: Record) -> None:
    """To find the moment of a cancel, `verify` counts a character in two chunks as one."""
    recorded = record(f"""{SESSION}
        5 -> #2 session/prompt {{"sessionId": "s"}}
        6 <- {chunk(FIRST_HALF)}
        7 <- {chunk(SECOND_HALF)}
        8 -> session/cancel {{"sessionId": "s"}}
        9 <- #2 result {{}}
    """)
    live = verify(recorded).check(f"{HAS_SESSION}\n-> 5\n<- {chunk('abc')}")
    live.check(f"<- {chunk('😀')}\n-> 8\n<- 9\n-> end")
    assert live.informed == []
    live = verify(recorded).check(f"{HAS_SESSION}\n-> 5\n<- {chunk('😀')}\n<- {chunk('😀')}\n-> 8")


def test_a_thought_is_another_text(record: Record) -> None:
    """To find the moment of a cancel, `verify` does not count a thought as text of a message."""
    live = verify(record(STOPPED)).check(
        f"{HAS_SESSION}\n-> 5\n<- {chunk('Let me think so it is')}"
    )
    live.check(f"<- {chunk('Hm', 'agent_thought_chunk')}\n<- {chunk('so it is')}\n-> 10")


@pytest.mark.parametrize(
    "kind", ["usage_update", "session_info_update", "available_commands_update"]
)
def test_state_updates_do_not_count(record: Record, kind: str) -> None:
    """To find the moment of a cancel, `verify` does not count updates of a session's state."""
    state = STATE % kind
    recorded = record(f"""{SESSION}
        5 <- {state}
        6 -> #2 session/prompt {{"sessionId": "s"}}
        7 <- {state}
        8 <- {chunk("ab")}
        9 -> session/cancel {{"sessionId": "s"}}
        10 <- #2 result {{}}
    """)
    live = verify(recorded).check(
        f"{HAS_SESSION}\n-> 6\n<- 5\n<- {state}\n<- {chunk('a')}\n<- {state}"
    )
    live.check(f"<- {chunk('b')}\n-> 9\n<- 10\n-> end")
    assert (live.mismatches, live.informed) == ([], [])


def test_the_end_waits_for_state_updates(record: Record) -> None:
    """`verify` waits up to 5 s for updates of a session's state that end a recording."""
    title, usage = STATE % "session_info_update", STATE % "usage_update"
    recorded = record(f"""{SESSION}
        5 <- {title}
        6 -> #2 session/prompt {{"sessionId": "s"}}
        7 <- {usage}
        8 <- #2 result {{}}
        9 <- {title}
    """)
    verify(recorded).check(f"{HAS_SESSION}\n-> 6\n<- 5\n<- 8\n.. 4.9s\n<- {title}\n-> end")
    verify(recorded).check(f"{HAS_SESSION}\n-> 6\n<- 5\n<- {title}\n<- 8\n-> end")
    verify(recorded).check(f"{HAS_SESSION}\n-> 6\n<- 5\n<- 8\n.. 4.9s\n.. 0.1s\n-> end")


def test_a_slow_text_is_not_cancelled_early(record: Record) -> None:
    """If a message grows by one letter every 26 s, `verify` does not cancel the turn early."""
    live = verify(record(STOPPED)).check(f"{HAS_SESSION}\n-> 5\n<- {UPDATE % 1}\n<- {UPDATE % 2}")
    for _ in range(7):
        live.check(f"<- {chunk('a')}\n.. 26s")
    for _ in range(9):
        live.check(f"<- {STATE % 'usage_update'}\n.. 26s")
    assert live.play(f"<- {STATE % 'usage_update'}", ".. 26s") == ["-> 10"]
    assert live.divergences[0].summary.endswith("only other messages came for 270.0 s")


def test_the_cutting_does_not_matter_in_recorded_order(record: Record) -> None:
    """With `--order recorded`, `verify` also counts characters to find the moment of a cancel."""
    recorded = record(STOPPED)
    live = verify(recorded, order=Order.RECORDED).check(f"{HAS_SESSION}\n-> 5")
    for text in "Let me thin":
        live.check(f"<- {chunk(text)}")
    live.check(f"<- {chunk('k')}\n<- {UPDATE % 1}\n<- {chunk('so it ')}\n<- {chunk('is')}\n-> 10")
