"""The client of `try` accepts requests and updates of any form."""

from __future__ import annotations

import contextlib
from collections import deque
from pathlib import Path
from typing import Any

import trio
from hypothesis import given
from hypothesis import strategies as st

from acp_proxy.cli.try_.live_screen import LiveScreen
from acp_proxy.explain.transcript.live_entries import LiveEntries
from acp_proxy.protocol.dialects import DRAFT, V1
from acp_proxy.protocol.json_text import encode_json
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.try_.agent_connection import RequestError
from acp_proxy.try_.agent_requests import AgentRequests, ConsentQuestion, Policy

METHODS = (
    "session/request_permission", "fs/read_text_file", "fs/write_text_file", "terminal/create",
    "terminal/output", "terminal/wait_for_exit", "terminal/release",
)  # fmt: skip
NAMES = (
    "path", "content", "line", "limit", "command", "args", "env", "cwd", "outputByteLimit", "name",
    "value", "terminalId", "toolCall", "toolCallId", "title", "options", "optionId", "kind", "type",
    "oldText", "newText", "text", "operation", "resource", "update", "sessionUpdate", "sessionId",
    "status", "entries", "messageId", "rawInput", "locations",
)  # fmt: skip
WORDS = ("", "a.txt", "../b", "diff", "content", "allow_once", "tool_call", "plan", "completed",
         "agent_message_chunk", "\ud800", "\x1b[2J", "/no/such/program")  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.just(1e300), st.sampled_from(WORDS)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
    ),
    max_leaves=12,
)
CREATE = st.fixed_dictionaries(
    {"command": st.just("/no/such/program")},
    optional={"args": VALUES, "env": VALUES, "outputByteLimit": SCALARS},
)
ASKED = st.fixed_dictionaries({"toolCall": VALUES, "options": VALUES})
PARAMS = CREATE | ASKED | st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8)


@given(
    st.sampled_from(METHODS), PARAMS | VALUES, st.sampled_from((V1, DRAFT)), st.sampled_from(Policy)
)
def test_every_request_of_an_agent_has_an_answer(
    method: str, params: Any, dialect: str, policy: Policy
) -> None:
    """`try` answers any request of an agent with a result or an error."""
    message = {"method": method, "params": params}

    async def answer() -> None:
        async def ask(question: ConsentQuestion) -> int | None:
            assert [*LiveScreen(["x"]).described(question)]
            return None

        async with trio.open_nursery() as nursery:
            root = Path("/dev/null/nothing")  # where nothing can be read, written or run
            client = AgentRequests(policy, ask, root, nursery)
            client.dialect = dialect
            with contextlib.suppress(RequestError):
                assert encode_json(await client.answer(method, message))
            nursery.cancel_scope.cancel()

    trio.run(answer)


@given(st.lists(st.tuples(st.sampled_from(METHODS), PARAMS | VALUES), max_size=6))
def test_every_message_can_be_shown_as_it_comes(messages: list[tuple[str, Any]]) -> None:
    """`try` can print any message without an exception."""
    entries = LiveEntries()
    for number, (method, params) in enumerate(messages):
        for message in (
            {"id": number, "method": method, "params": params},
            {"method": "session/update", "params": params},
            {"method": "session/update", "params": {"sessionId": "s", "update": params}},
        ):
            deque(entries.take(Direction.TO_CLIENT, encode_json(message)), 0)
        for key in ("result", "error"):
            answer = encode_json({"id": number, key: params})
            deque(entries.take(Direction.TO_AGENT, answer), 0)
        assert all(isinstance(title, str) for title in entries.running)
