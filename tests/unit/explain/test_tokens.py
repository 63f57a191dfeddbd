"""The tokens of a recording are the numbers that the agent reported."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.explain.describe.token_texts import COUNTS, Tokens, token_facts, tokens_of
from acp_proxy.explain.tokens import RecordedTokens, read_tokens
from acp_proxy.store.queries.exchanges import turns
from acp_proxy.store.reader import RecordingReader
from tests.support import captures
from tests.support.audit_conversation import Talk
from tests.support.cases import each_case
from tests.support.log_writer import LogWriter, request, result, text, update
from tests.support.waiting_chat import record_waiting_chat
from tests.unit.explain.show.test_checks import play

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAIRS = sorted((captures.ROOT.parent / "pairs").glob("*.jsonl"))
CONVERSATIONS = [*captures.all_captures(), *captures.all_text_forms(), *PAIRS]
GEMINI = {"input_tokens": "inputTokens", "output_tokens": "outputTokens"}


def recorded(path: Path) -> RecordedTokens:
    """Returns the tokens of a recording, as `stats` computes them."""
    with RecordingReader(path) as reader:
        return read_tokens(reader, turns(reader))


def raw_messages(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the streams and the messages of a conversation in order, as the file has them."""
    if path not in captures.all_captures():
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()[1:]):
            said = line.get("text", "")
            message = json.loads(said) if said.startswith('{"') else line.get("message")
            if isinstance(message, dict):
                yield line["stream"], message
        return
    rest: dict[str, bytes] = {}
    for record in captures.load(path).records:
        if isinstance(record, captures.Read) and record.stream != "stderr":
            *lines, left = (rest.get(record.stream, b"") + record.data).split(b"\n")
            rest[record.stream] = left
            for raw in lines:
                if raw.startswith(b"{"):
                    yield record.stream, json.loads(raw)


def sent_counts(result: dict[str, Any]) -> dict[str, int]:
    """Returns the token counts in the answer to a prompt, by their names in the schema."""
    meta = result.get("_meta") or {}
    counts = result.get("usage") or (meta.get("quota") or {}).get("token_count") or {}
    return {GEMINI.get(name, name): count for name, count in counts.items() if count is not None}


@pytest.mark.parametrize("path", CONVERSATIONS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_tokens_of_real_agents_are_those_of_the_traffic(tmp_path: Path, path: Path) -> None:
    """For recordings of real agents, `stats` prints the token counts of their messages."""
    prompts, open_ = list[dict[str, int]](), dict[Any, int]()
    context, costs = Tokens(), dict[str, float]()
    for stream, message in raw_messages(path):
        change = message.get("params", {}).get("update", {})
        if message.get("method") == "session/prompt":
            open_[message["id"]] = len(prompts)
            prompts.append({})
        elif stream == "to-client" and "result" in message and message["id"] in open_:
            prompts[open_.pop(message["id"])] = sent_counts(message["result"])
        elif change.get("sessionUpdate") == "usage_update":
            context = Tokens(used=change["used"], window=change["size"])
            if "cost" in change:
                costs[message["params"]["sessionId"]] = change["cost"]["amount"]
    if path in captures.all_captures():
        with LogWriter(tmp_path / "x.db") as recorder:
            play(captures.load(path), recorder)
        path = recorder.path
    reported = recorded(path)
    read = {
        turn: {COUNTS[name]: n for name in COUNTS if (n := getattr(tokens, name)) is not None}
        for turn, tokens in reported.turns.items()
    }
    assert {n: counts for n, counts in read.items() if counts} == {
        number: counts for number, counts in enumerate(prompts, 1) if counts
    }
    whole = reported.whole
    if context == Tokens() and not any(prompts):
        assert whole is None
        return
    assert whole is not None
    assert (whole.used, whole.window) == (context.used, context.window)
    assert whole.cost == (pytest.approx(sum(costs.values())) if costs else None)
    inputs = [counts["inputTokens"] for counts in prompts if counts]
    expected = {"turns": sum(inputs), "session": max(inputs, default=0)}
    assert whole.input == (expected[whole.counted] if whole.counted else None)


class Chat:
    """A conversation in which each prompt is answered with a usage.

    Args:
        path: the path of the recording.
        version: the version of the protocol.
        opening: the method that opens the sessions.
    """

    def __init__(self, path: Path, version: int = 1, opening: str = "session/new") -> None:
        self.log, self._id, self._opening = LogWriter(path), 0, opening
        self._end = {"stopReason": "end_turn"} if version == 1 else {}
        half: dict[str, Any] = (
            {"agentCapabilities": {}} if version == 1 else {"info": {}, "capabilities": {}}
        )
        self.log.to_agent(request(0, "initialize", protocolVersion=version, **half))
        self.log.to_client(result(0, protocolVersion=version, **half))

    def open(self, session: str) -> None:
        """Opens a session."""
        self._id += 1
        self.log.to_agent(request(self._id, self._opening, sessionId=session, cwd="/srv"))
        self.log.to_client(result(self._id, sessionId=session))

    def turn(self, session: str, *updates: Any, **answer: Any) -> None:
        """Adds a turn with its updates and its answer."""
        self._id += 1
        prompt = request(self._id, "session/prompt", sessionId=session, prompt=[text("go")])
        self.log.to_agent(prompt)
        self.log.to_client(*updates, result(self._id, **self._end, **answer))

    def tokens(self) -> RecordedTokens:
        """Ends the conversation, and returns its tokens."""
        self.log.abandon()
        return recorded(self.log.path)


def usage(into: int, out: int) -> dict[str, int]:
    """Returns the usage of an answer."""
    return {"inputTokens": into, "outputTokens": out}


def spent(session: str, amount: float, currency: str = "USD") -> Any:
    """Returns an update with the cost of a session so far."""
    cost = {"amount": amount, "currency": currency}
    return update(session, "usage_update", used=1, size=2, cost=cost)


@pytest.mark.parametrize(
    ("version", "counts", "whole", "counted"),
    [
        (1, [(10, 2), (30, 1)], (40, 3), "turns"),
        (1, [(10, 2), (10, 2)], (20, 4), "turns"),
        (1, [(10, 2)], (10, 2), "turns"),
        (1, [(10, 2), (30, 3)], (30, 3), "unclear"),
        (2, [(10, 2), (30, 3)], (40, 5), "turns"),
        (1, [(10, 2), (20, 3), (30, 4), (30, 4), (40, 5), (50, 6), (60, 6)], (60, 6), "session"),
        (1, [(10, 2), (20, 3), (30, 4), (40, 5), (50, 6)], (50, 6), "unclear"),
        (2, [(n, n) for n in range(1, 7)], (6, 6), "session"),
    ],
)
def test_running_totals_are_not_added_up(
    tmp_path: Path, version: int, counts: list[tuple[int, int]], whole: Any, counted: str
) -> None:
    """If the token counts of turns only rise, `stats` prints the last count, not the sum."""
    chat = Chat(tmp_path / "x.db", version)
    chat.open("s")
    for into, out in counts:
        if version == 1:
            chat.turn("s", usage=usage(into, out))
        else:
            idle = update("s", "state_update", state="idle", stopReason="end_turn",
                          usage=usage(into, out))  # fmt: skip
            chat.turn("s")
            chat.log.to_client(idle)
    reported = chat.tokens()
    assert reported.whole is not None
    assert (reported.whole.input, reported.whole.output) == whole
    assert reported.whole.counted == counted
    assert [(t.input, t.output) for t in reported.turns.values()] == counts


def test_the_draft_has_its_usage_in_the_answer(tmp_path: Path) -> None:
    """In the 1.0 draft, `stats` adds up the token counts of turns."""
    conversation = Talk("draft-1.0")
    for number, counts in {3: usage(350, 520), 4: usage(1_500, 2_300)}.items():
        conversation.to_client(result(number, stopReason="end_turn", usage=counts))
        conversation.prompt()
    with LogWriter(tmp_path / "x.db") as recorder:
        for stream, message in conversation.lines:
            (recorder.to_agent if stream == "to-agent" else recorder.to_client)(message)
    assert recorded(recorder.path).whole == Tokens(input=1_850, output=2_820, counted="turns")


def test_sessions_are_added_up(tmp_path: Path) -> None:
    """For the cost of a recording, `stats` adds up the last reported cost of each session."""
    chat = Chat(tmp_path / "x.db")
    chat.open("a")
    chat.open("b")
    chat.turn("a", spent("a", 0.1), usage=usage(10, 2))
    chat.turn("b", spent("b", 0.5), usage=usage(50, 7))
    chat.turn("a", spent("a", 0.3), spent("a", 0.4), usage=usage(5, 1))
    reported = chat.tokens()
    assert [reported.turns[turn].cost for turn in (1, 2, 3)] == [0.1, 0.5, 0.3]
    assert reported.whole == Tokens(input=65, output=10, used=1, window=2, cost=0.9,
                                 currency="USD", counted="turns")  # fmt: skip


def test_the_first_cost_of_a_loaded_session_is_not_of_its_first_turn(tmp_path: Path) -> None:
    """If a loaded session already had costs, `stats` assigns these to none of its turns."""
    chat = Chat(tmp_path / "x.db", opening="session/load")
    chat.open("a")
    chat.turn("a", spent("a", 2))
    chat.turn("a", spent("a", 2.5))
    chat.open("b")
    chat.log.to_client(spent("b", 1))
    chat.turn("b", spent("b", 1.25))
    chat.turn("b", spent("b", 9, "EUR"))
    reported = chat.tokens()
    assert [reported.turns[turn].cost for turn in (1, 2, 3, 4)] == [None, 0.5, 0.25, None]
    assert reported.whole is not None
    assert reported.whole.cost is None


def test_a_late_report_belongs_to_the_turn_before(tmp_path: Path) -> None:
    """If a cost is reported after a turn's end, `stats` assigns it to that turn."""
    chat = Chat(tmp_path / "x.db")
    chat.open("s")
    chat.turn("s")
    chat.log.to_client(spent("s", 0.5))
    chat.turn("s", spent("s", 0.75))
    assert [tokens.cost for tokens in chat.tokens().turns.values()] == [0.5, 0.25]


def test_nothing_is_said_without_usage(tmp_path: Path) -> None:
    """If an agent reports no token usage, `stats` prints no tokens."""
    assert recorded(record_waiting_chat(tmp_path / "x.db").path) == RecordedTokens({}, None, {}, {})


@pytest.mark.parametrize(
    "odd",
    [
        {"usage": {"inputTokens": -1, "outputTokens": True, "totalTokens": "7"}},
        {"usage": [1], "used": 1 << 70, "size": 1.5},
        {"cost": {"amount": float("nan"), "currency": "USD"}},
        {"cost": {"amount": True, "currency": "USD"}},
        {"cost": {"amount": "1", "currency": "USD"}},
        {"_meta": {"quota": {"token_count": None}}},
    ],
)
def test_odd_values_are_left_out(odd: dict[str, Any]) -> None:
    """If the agent reports tokens with a value that is not a number, `stats` ignores the value."""
    assert tokens_of(odd) == Tokens()


@each_case(
    ("tokens", "facts"),
    [
        (Tokens(used=21_400, window=262_144, input=18_000, output=2_000, cost=0.12,
                currency="USD"), ["21k of 262k tokens", "18k in, 2.0k out", "$0.12"]),
        (Tokens(input=0, output=7), ["0 tokens in, 7 out"]),
        (Tokens(output=7, counted="unclear"), ["at least ? tokens in, 7 out"]),
        (Tokens(total=1_234), ["1.2k tokens"]),
        (Tokens(cost=0.0008, currency="USD"), ["$0.0008"]),
        (Tokens(cost=1234.5, currency="credits"), ["1,234.50 credits"]),
        (Tokens(cost=0.0, currency=""), ["0.00"]),
        (None, []),
    ],
)  # fmt: skip
def test_tokens_in_words(tokens: Tokens | None, facts: list[str]) -> None:
    """`stats` prints only those token counts and costs that the agent reported."""
    assert [*token_facts(tokens)] == facts
