"""The policy that a user of `try` chooses decides what an agent may do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from acp_proxy.protocol.dialects import DRAFT, V1
from acp_proxy.try_.agent_connection import INVALID_PARAMS, METHOD_NOT_FOUND, RequestError
from acp_proxy.try_.agent_requests import NOT_FOUND, AgentRequests, ConsentQuestion, Policy

if TYPE_CHECKING:
    from pathlib import Path

OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]
ALWAYS = {"optionId": "a", "name": "Always", "kind": "allow_always"}
PERMISSION = {"toolCall": {"toolCallId": "c"}, "options": OPTIONS}
CREATE = {"command": "true", "args": []}


class Asked:
    """Answers questions to the user with prepared answers, and keeps the questions."""

    def __init__(self, *answers: int | None) -> None:
        self.answers = list(answers)
        self.questions: list[ConsentQuestion] = []

    async def __call__(self, question: ConsentQuestion) -> int | None:
        """Returns the next prepared answer."""
        self.questions.append(question)
        return self.answers.pop(0)


class Client:
    """The part of `try` that answers requests of one agent, in a directory."""

    def __init__(
        self, nursery: trio.Nursery, root: Path, policy: Policy, ask: Asked, dialect: str = V1
    ) -> None:
        self.requests = AgentRequests(policy, ask, root, nursery)
        self.requests.dialect = dialect

    async def ask(self, method: str, **params: Any) -> Any:
        """Returns the result of a request, or the code of its error."""
        try:
            return await self.requests.answer(method, {"method": method, "params": params})
        except RequestError as e:
            return e.code


@pytest.mark.parametrize("policy", [Policy.REJECT, Policy.ALLOW])
async def test_nothing_is_done_that_was_rejected(
    tmp_path: Path, nursery: trio.Nursery, policy: Policy
) -> None:
    """`try --reject` writes no file and starts no command; `try --allow` does; both read files."""
    client = Client(nursery, tmp_path, policy, Asked())
    (tmp_path / "old.txt").write_text("old")
    is_allowed = policy is Policy.ALLOW
    assert client.requests.writes is is_allowed
    chosen = (await client.ask("session/request_permission", **PERMISSION))["outcome"]
    assert chosen == {"outcome": "selected", "optionId": "y" if is_allowed else "n"}
    written = await client.ask("fs/write_text_file", path="new.txt", content="new")
    created = await client.ask("terminal/create", **CREATE)
    assert written == ({} if is_allowed else METHOD_NOT_FOUND)
    assert created == ({"terminalId": "terminal-1"} if is_allowed else METHOD_NOT_FOUND)
    assert (tmp_path / "new.txt").exists() is is_allowed
    assert await client.ask("fs/read_text_file", path="old.txt") == {"content": "old"}


@pytest.mark.parametrize(
    ("options", "outcome"),
    [
        ([ALWAYS, *OPTIONS], {"outcome": "selected", "optionId": "y"}),
        ([ALWAYS], {"outcome": "selected", "optionId": "a"}),
        (OPTIONS[1:], {"outcome": "cancelled"}),
    ],
)
async def test_permission_is_granted_once_rather_than_always(
    tmp_path: Path, nursery: trio.Nursery, options: Any, outcome: Any
) -> None:
    """If an agent offers "allow once" and "allow always", `try --allow` chooses "allow once"."""
    client = Client(nursery, tmp_path, Policy.ALLOW, Asked())
    result = await client.ask("session/request_permission", options=options)
    assert result == {"outcome": outcome}


async def test_each_trouble_has_the_code_of_an_error(tmp_path: Path, nursery: trio.Nursery) -> None:
    """If a request fails in `try`, its error code says if a file is missing or data are wrong."""
    client = Client(nursery, tmp_path, Policy.ALLOW, Asked())
    assert await client.ask("fs/read_text_file", path="nothing") == NOT_FOUND
    assert await client.ask("fs/read_text_file", path="../x") == INVALID_PARAMS
    assert await client.ask("fs/read_text_file", path=".") == INVALID_PARAMS
    assert await client.ask("fs/write_text_file", path="a", content=None) == INVALID_PARAMS
    assert await client.ask("terminal/create", command="/no/such/program") == INVALID_PARAMS
    assert await client.ask("terminal/create", command=3) == INVALID_PARAMS


async def test_each_write_and_each_command_is_asked_about(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    """Before `try` writes a file or runs a command on request, it asks its user about it."""
    ask = Asked(1, 0, None, 0)
    client = Client(nursery, tmp_path, Policy.ASK, ask)
    assert isinstance(await client.ask("fs/write_text_file", path="a", content="x"), int)
    assert not (tmp_path / "a").exists()
    assert await client.ask("fs/write_text_file", path="a", content="x") == {}
    assert isinstance(await client.ask("terminal/create", **CREATE), int)
    assert await client.ask("terminal/create", **CREATE) == {"terminalId": "terminal-1"}
    assert [question.message["params"].get("content") for question in ask.questions[:2]] == [
        "x",
        "x",
    ]
    assert ask.questions[2].message["params"] == CREATE


async def test_a_path_outside_is_refused_without_a_question(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    """`try` refuses a write outside of the working directory without asking its user."""
    client = Client(nursery, tmp_path, Policy.ASK, Asked())
    assert isinstance(await client.ask("fs/write_text_file", path="/etc/x", content="x"), int)
    assert isinstance(await client.ask("terminal/create", **CREATE, cwd="/"), int)


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (0, {"outcome": "selected", "optionId": "y"}),
        (1, {"outcome": "selected", "optionId": "n"}),
        (None, {"outcome": "cancelled"}),
    ],
)
async def test_the_user_chooses_an_option(
    tmp_path: Path, nursery: trio.Nursery, answer: int | None, outcome: dict[str, str]
) -> None:
    """In `try`, the user chooses an option of a permission request by name."""
    ask = Asked(answer)
    client = Client(nursery, tmp_path, Policy.ASK, ask)
    result = await client.ask("session/request_permission", **PERMISSION)
    assert result == {"outcome": outcome}
    assert list(ask.questions[0].options) == ["Yes", "No"]


async def test_a_cancelled_turn_withdraws_the_question(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    """If a turn is cancelled, `try` answers its open permission request as cancelled."""
    results = []

    class Silent(Asked):
        async def __call__(self, question: ConsentQuestion) -> int | None:
            self.questions.append(question)
            await trio.sleep(float("inf"))
            return 0

    client = Client(nursery, tmp_path, Policy.ASK, Silent())

    async def ask() -> None:
        results.append(await client.ask("session/request_permission", **PERMISSION))

    nursery.start_soon(ask)
    await wait_all_tasks_blocked()
    client.requests.cancel()
    await wait_all_tasks_blocked()
    assert results == [{"outcome": {"outcome": "cancelled"}}]


async def test_nobody_is_asked_after_the_cancel_of_a_turn(
    tmp_path: Path, nursery: trio.Nursery
) -> None:
    """If a permission request comes after the cancel of its turn, `try` answers `cancelled`."""
    client = Client(nursery, tmp_path, Policy.ASK, ask := Asked())
    client.requests.cancel()
    result = await client.ask("session/request_permission", **PERMISSION)
    assert result == {"outcome": {"outcome": "cancelled"}}
    assert await client.ask("fs/write_text_file", path="a", content="x") == INVALID_PARAMS
    assert ask.questions == []
    allowing = Client(nursery, tmp_path, Policy.ALLOW, Asked())
    allowing.requests.cancel()
    assert await allowing.ask("session/request_permission", **PERMISSION) == result
    client.requests.is_cancelled = False
    ask.answers = [0]
    result = await client.ask("session/request_permission", **PERMISSION)
    assert result == {"outcome": {"outcome": "selected", "optionId": "y"}}


async def test_the_draft_has_its_own_answers(tmp_path: Path, nursery: trio.Nursery) -> None:
    """In the 1.0 draft, `try` answers permission and file requests in the form of the draft."""
    client = Client(nursery, tmp_path, Policy.ALLOW, Asked(), DRAFT)
    granted = await client.ask("session/request_permission", operation="file_write", resource="a")
    assert granted == {"granted": True}
    written = await client.ask("fs/write_text_file", path="a", content="1\né\n3\n")
    assert written == {"bytesWritten": 7, "created": True}
    read = await client.ask("fs/read_text_file", path="a", startLine=2, endLine=3)
    assert read == {"content": "é\n3\n", "encoding": "utf-8"}
    assert await client.ask("terminal/create", **CREATE) == METHOD_NOT_FOUND


async def test_the_life_of_a_terminal(tmp_path: Path, nursery: trio.Nursery) -> None:
    """In `try`, an agent can create, read, kill and release a terminal; then its id is unknown."""
    client = Client(nursery, tmp_path, Policy.ALLOW, Asked())
    created = await client.ask("terminal/create", command="echo", args=["hi"], cwd=str(tmp_path))
    exited = await client.ask("terminal/wait_for_exit", **created)
    assert exited == {"exitCode": 0, "signal": None}
    assert (await client.ask("terminal/output", **created))["output"] == "hi\n"
    assert await client.ask("terminal/kill", **created) == {}
    assert await client.ask("terminal/release", **created) == {}
    assert isinstance(await client.ask("terminal/output", **created), int)


@pytest.mark.parametrize("method", ["elicitation/create", "terminal/resize", "_x/y", "fs/list"])
async def test_other_requests_are_not_offered(
    tmp_path: Path, nursery: trio.Nursery, method: str
) -> None:
    """`try` answers an unknown method with the error for an unknown method."""
    client = Client(nursery, tmp_path, Policy.ALLOW, Asked())
    created = await client.ask("terminal/create", **CREATE)
    assert await client.ask(method, **created) == METHOD_NOT_FOUND
