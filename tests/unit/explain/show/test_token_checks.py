"""`show` doubts an agent's report about tokens only if the report cannot be true."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.explain.show.summary import summarize
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import request, result, text, update
from tests.unit.explain.test_tokens import Chat, usage

if TYPE_CHECKING:
    from pathlib import Path

WORDS = update("s", "agent_message_chunk", content=text("Hello"))


def doubts(chat: Chat) -> list[tuple[str, str, str | None, str]]:
    """Ends the conversation, and returns the findings about its tokens."""
    chat.log.abandon()
    with RecordingReader(chat.log.path) as reader:
        findings = summarize(reader).findings
    return [(f.rule, f.severity, f.by, f.text) for f in findings if "usage" in f.rule]


def test_a_context_that_is_too_full_is_a_warning(tmp_path: Path) -> None:
    """If an agent reports more tokens than its context can hold, `show` prints a warning."""
    chat = Chat(tmp_path / "x.db")
    chat.open("s")
    chat.turn("s", WORDS, update("s", "usage_update", used=200_001, size=200_000))
    chat.turn("s", WORDS, update("s", "usage_update", used=200_000, size=200_000))
    chat.turn("s", WORDS, update("s", "usage_update", used=7, size=0))
    said = "the agent reported 200,001 used of 200,000 tokens (#8)"
    assert doubts(chat) == [("answer.usage-beyond-size", "warning", "agent", said)]


def test_running_totals_are_a_note(tmp_path: Path) -> None:
    """If the token counts of six turns only rise, `show` notes that they may be running totals."""
    chat = Chat(tmp_path / "x.db")
    chat.open("s")
    chat.open("t")
    for total in (10, 20, 30, 40, 50, 60):
        chat.turn("s", WORDS, usage=usage(total, total))
    chat.turn("t", usage=usage(3, 3))
    ((rule, severity, by, said),) = doubts(chat)
    assert (rule, severity, by) == ("answer.usage-total", "info", "agent")
    assert said == (
        "the usage in the answers to 6 prompts never falls (10, 20, 30 … 60 tokens),"
        " so it is of the session so far, not of the turn (#25)"
    )


def test_counts_that_may_be_of_turns_are_not_doubted(tmp_path: Path) -> None:
    """If token counts fall once, or cover only five turns, `show` reports no running totals."""
    chat = Chat(tmp_path / "x.db")
    for session, counts in {"s": (10, 20, 30, 40, 50), "t": (10, 20, 30, 40, 50, 60, 59)}.items():
        chat.open(session)
        for count in counts:
            chat.turn(session, usage=usage(count, count))
    assert doubts(chat) == []


@pytest.mark.parametrize(
    ("prompt", "updates", "answer", "is_doubted"),
    [
        ("go", [WORDS], {}, True),
        ("go", [WORDS], {"totalTokens": 0}, True),
        ("go", [WORDS], {"totalTokens": 9}, False),
        ("go", [WORDS], {"inputTokens": 1}, False),
        ("/help", [WORDS], {}, False),
        ("go", [update("s", "plan", entries=[])], {}, False),
    ],
)
def test_a_turn_of_no_tokens_is_doubted_if_it_has_text(
    tmp_path: Path, prompt: str, updates: list[Any], answer: dict[str, int], is_doubted: bool
) -> None:
    """If a turn has text of the model, but reports 0 tokens, `show` prints a finding."""
    chat = Chat(tmp_path / "x.db")
    chat.open("s")
    chat.log.to_agent(request(7, "session/prompt", sessionId="s", prompt=[text(prompt)]))
    sent = {**usage(0, 0), **answer}
    chat.log.to_client(*updates, result(7, stopReason="end_turn", usage=sent))
    said = 'turn 1 (prompt "go" #6) has text, but a usage of 0 tokens (#8)'
    expected = [("answer.usage-zero", "info", "agent", said)] if is_doubted else []
    assert doubts(chat) == expected


def test_a_cancelled_turn_of_no_tokens_is_not_doubted(tmp_path: Path) -> None:
    """If a cancelled turn reports no tokens, `show` prints no warning."""
    chat = Chat(tmp_path / "x.db")
    chat.open("s")
    chat.log.to_agent(request(7, "session/prompt", sessionId="s", prompt=[text("go")]))
    chat.log.to_client(WORDS, result(7, stopReason="cancelled", usage=usage(0, 0)))
    assert doubts(chat) == []
