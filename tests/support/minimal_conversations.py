"""Puts a message of a protocol document into the smallest conversation that allows it.

The conversation has the handshake of a dialect, the session, turn, tool call and terminal that the
message names, the request that it answers, and an answer for each request. Requests and answers
come from the documents if possible, and otherwise from `_REQUESTS` and `_ANSWERS`.
"""

from __future__ import annotations

import copy
import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from acp_proxy.protocol.jsonrpc import Direction
from tests.support import protocol_documents
from tests.support.log_writer import LogWriter, notification, request
from tests.tools import previews

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Json = dict[str, Any]
OUT, IN = Direction.TO_AGENT, Direction.TO_CLIENT
DIALECTS = {"v1": "v1", "v1-unstable": "v1", "v2": "v2", "draft-1.0": "draft-1.0"}
ROOT = "/home/user"
"""The directory of the session; the client's paths in the documents are below it."""
SESSION, CALL, TERMINAL = "sess_1", "call_1", "term_1"
INITIALIZE_ID, OPEN_ID, PROMPT_ID = 800, 801, 802

_INITIALIZE: dict[str, tuple[Json, Json]] = {
    "v1": (
        {
            "protocolVersion": 1,
            "clientCapabilities": {
                "fs": {"readTextFile": True, "writeTextFile": True},
                "terminal": True,
            },
        },
        {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}},
    ),
    "v2": (
        {"protocolVersion": 2, "info": {"name": "ed", "version": "1"}, "capabilities": {}},
        {"protocolVersion": 2, "info": {"name": "ag", "version": "1"}, "capabilities": {}},
    ),
    "draft-1.0": (
        {
            "protocolVersion": 1,
            "clientInfo": {"name": "ed", "version": "1"},
            "capabilities": {"fs": {"read": True, "write": True}, "terminal": {"create": True}},
        },
        {
            "protocolVersion": 1,
            "agentInfo": {"name": "ag", "version": "1"},
            "capabilities": {"loadSession": True},
        },
    ),
}
_REQUESTS: dict[str, Json] = {
    "terminal/release": {"terminalId": TERMINAL},
    "session/list": {},
    "session/resume": {"sessionId": SESSION, "cwd": ROOT, "mcpServers": []},
    "session/load": {"sessionId": SESSION, "cwd": ROOT, "mcpServers": []},
    "session/delete": {"sessionId": SESSION},
    "session/close": {"sessionId": SESSION},
    "_zed.dev/workspace/buffers": {"language": "rust"},
    "mcp/message": {"connectionId": "conn-1", "method": "tools/list"},
}
"""Params of requests that the documents answer but do not contain in the same dialect."""
_ANSWERS: dict[str, Json | None] = {
    "fs/write_text_file": {},
    "terminal/kill": {},
    "terminal/release": {},
    "elicitation/create": {"action": "decline"},
    "session/set_mode": {},
    "session/load": {},
    "authenticate": {"success": True},
    "_custom/analyzeCode": {"issues": []},
    "_mcp/request": {"content": []},
    "proxy/initialize": {"protocolVersion": 1, "agentCapabilities": {}},
    "_proxy/initialize": {"protocolVersion": 1, "agentCapabilities": {}},
}
"""Results of requests that the documents do not answer in the same dialect."""
_HANDSHAKES = ("initialize", "proxy/initialize", "_proxy/initialize")
_REOPENING = ("session/load", "session/resume")
_OPENING = ("session/new", "session/load", "session/resume", "session/fork")


@frozen
class Said:
    """One message of a conversation, and its direction."""

    direction: Direction
    message: Json

    @property
    def line(self) -> bytes:
        """Returns the message as a line of JSON."""
        return json.dumps(self.message, ensure_ascii=False).encode() + b"\n"


@define
class Surrounded:
    """A message of a document, and the smallest conversation that allows it.

    Attributes:
        name: the document and the number of the message in it.
        dialect: a dialect that allows the message.
        example: the message as the document shows it.
        said: the whole conversation.
        focus: the index of the example in `said`.
        session, tool_call, terminal: the labels that the message must get, if any.
        has_turn: whether the message belongs to a turn.
    """

    name: str
    dialect: str
    example: protocol_documents.Example
    said: list[Said] = field(factory=list)
    focus: int = -1
    session: str | None = None
    tool_call: str | None = None
    terminal: str | None = None
    has_turn: bool = False

    def renamed(self) -> Surrounded:
        """Returns the conversation with another directory, other times and other ids."""
        said = [
            Said(item.direction, renamed(item.message, self, by_client=True, by_agent=True))
            for item in self.said
        ]
        return evolve(self, said=said)

    def record(self, path: Path) -> Path:
        """Makes a recording of the conversation, and returns its path."""
        with LogWriter(path, cwd=ROOT) as recorder:
            for said in self.said:
                messages = recorder.to_agent if said.direction is OUT else recorder.to_client
                messages(said.line)
            recorder.end()
            recorder.close()
            recorder.finish()
        return path


def surrounded() -> Iterator[Surrounded]:
    """Yields a conversation for each message and fragment in the protocol documents."""
    for file, dialect, examples in (
        ("official", "v1", protocol_documents.official()),
        ("seed004", "draft-1.0", protocol_documents.draft()),
        ("schemas", "", protocol_documents.schemas()),
        ("fragments", "", list(fragments())),
    ):
        for number, example in enumerate(examples, 1):
            named = dialect or DIALECTS.get(example.source.split(" ")[0], "v1")
            name = f"{file}-{number}-{named}-{example.method}-{_kind_of(example)}"
            yield surround(example, named, name)


def fragments() -> Iterator[protocol_documents.Example]:
    """Yields each message fragment in the documents, completed to a whole message."""
    for case in previews.cases():
        if case.source.startswith("fragments-"):
            source = "draft-1.0" if "seed004" in case.source else "v1"
            if case.method == "session/new":
                case.message["params"]["cwd" if source == "v1" else "workingDirectory"] = ROOT
            is_clients = case.kind == "request"
            direction = OUT if is_clients else IN
            yield protocol_documents.Example(
                source, direction, case.kind, case.method, case.message
            )


def surround(example: protocol_documents.Example, dialect: str, name: str) -> Surrounded:
    """Returns the smallest conversation that allows a message.

    Args:
        example: the message.
        dialect: a dialect that allows the message.
        name: the document and the number of the message in it.
    """
    return _Builder(Surrounded(name, dialect, example)).build()


def _kind_of(example: protocol_documents.Example) -> str:
    params = example.message.get("params", {})
    update = params.get("update", {}).get("sessionUpdate") or params.get("type")
    if example.method == "session/update" and update:
        return str(update)
    return "error" if "error" in example.message else example.kind


class _Builder:
    def __init__(self, made: Surrounded) -> None:
        self._made = made
        self._example = made.example
        self._message = self._prepared(copy.deepcopy(made.example.message))
        self._is_answer = "method" not in self._message
        self._next_id = 100

    def build(self) -> Surrounded:
        """Returns the whole conversation."""
        method = self._example.method
        if method in _HANDSHAKES:
            self._exchange(OUT, method, _INITIALIZE[self._made.dialect])
            self._open(SESSION)
            self._turn(SESSION)
            return self._made
        self._say(OUT, request(INITIALIZE_ID, "initialize", **_INITIALIZE[self._made.dialect][0]))
        self._answer(IN, INITIALIZE_ID, _INITIALIZE[self._made.dialect][1])
        session = self._session()
        if method in _OPENING and method != "session/fork":
            has_failed = "error" in self._message
            self._made.session = self._opened(session)
            self._exchange(OUT, method)
            if not has_failed:
                self._turn(self._made.session)
            elif method == "session/new":
                self._made.session = None
            return self._made
        self._open(session)
        if method == "session/prompt":
            self._prompt_itself(session)
        elif self._is_in_turn():
            self._turn(session, around=True)
        else:
            named, made = self._params().get("sessionId"), self._named_by_answer()
            is_made_by_it = method == "session/fork" and self._is_answer
            self._made.session = made if is_made_by_it else named or made
            self._outside(method)
            self._turn(session) if method not in ("session/delete", "session/close") else None
        return self._made

    # What the example is about

    def _prepared(self, message: Json) -> Json:
        """Returns a message with the version and the id that its document leaves out."""
        message["jsonrpc"] = "2.0"
        if self._example.kind != "notification":
            message.setdefault("id", 50)
        return message

    def _params(self) -> Json:
        """Returns the params of the example, or of the request that it answers."""
        params: Json = self._message.get("params") or {}
        return self._request_params(self._example.method) if self._is_answer else params

    def _session(self) -> str:
        results = self._message.get("params", {}).get("sessionId")
        answered = self._message.get("result")
        if results is None and isinstance(answered, dict) and self._example.method in _OPENING:
            results = answered.get("sessionId")
        return str(results or self._params().get("sessionId") or SESSION)

    def _named_by_answer(self) -> str | None:
        """Returns the id of the session that the answer of the exchange creates."""
        if self._example.kind == "notification":
            return None
        return (self._answer_to(self._example.method) or {}).get("sessionId")

    def _opened(self, session: str) -> str:
        """Returns the id of the session that a request of `_OPENING` opens."""
        if self._example.method == "session/new":
            return str(self._named_by_answer() or session)
        return session

    def _is_in_turn(self) -> bool:
        said_by_agent = self._example.direction is IN
        if self._is_answer:
            said_by_agent = not said_by_agent
        return said_by_agent or self._example.method in (
            "session/cancel",
            "terminal/output",
            "$/cancel_request",
            "mcp/message",
        )

    def _tool_call(self) -> str | None:
        params = self._params()
        update = params.get("update") or params.get("data") or {}
        update = update if isinstance(update, dict) else {}
        subject = params.get("subject") or {}
        own = update.get("id") if self._made.dialect == "draft-1.0" else None
        if params.get("type", update.get("sessionUpdate", "tool_call")) not in _CALL_UPDATES:
            own = None
        results = (
            (params.get("toolCall") or {}).get("toolCallId")
            or (subject.get("toolCall") or {}).get("toolCallId")
            or subject.get("toolCallId")
            or params.get("toolCallId")
            or update.get("toolCallId")
            or own
        )
        return results if isinstance(results, str) else None

    def _terminal(self) -> str | None:
        if self._example.method == "terminal/create":
            answer = self._answer_to("terminal/create")
            return str(answer["terminalId"]) if answer else None
        for key, value in _walk([self._params(), self._message.get("result")]):
            if key == "terminalId" and isinstance(value, str):
                return value
        return None

    # What stands around it

    def _open(self, session: str) -> None:
        """Adds the creation of a session."""
        if self._made.dialect == "draft-1.0":
            opening = request(OPEN_ID, "session/new", workingDirectory=ROOT)
            answer: Json = {"sessionId": session, "createdAt": "2026-01-01T00:00:00Z"}
        else:
            opening = request(OPEN_ID, "session/new", cwd=ROOT, mcpServers=[])
            answer = {"sessionId": session}
        self._say(OUT, opening)
        self._answer(IN, OPEN_ID, answer)

    def _prompt(self, session: str, rpc_id: Any) -> None:
        member = "content" if self._made.dialect == "draft-1.0" else "prompt"
        block = {"type": "text", "text": "Do it"}
        self._say(OUT, request(rpc_id, "session/prompt", sessionId=session, **{member: [block]}))
        if self._made.dialect == "v2":
            self._answer(IN, rpc_id, {})
            self._update(session, {"sessionUpdate": "state_update", "state": "running"})

    def _finish(self, session: str, rpc_id: Any, reason: str = "end_turn") -> None:
        if self._made.dialect == "v2":
            idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": reason}
            self._update(session, idle)
        else:
            self._answer(IN, rpc_id, {"stopReason": reason})

    def _turn(self, session: str, *, around: bool = False) -> None:
        """Adds a turn; with ``around``, the example is inside the turn."""
        prompt_id = self._cancelled_id() if around else PROMPT_ID
        self._prompt(session, prompt_id)
        reason = "end_turn"
        if around:
            self._within(session)
            if self._example.method in ("session/cancel", "$/cancel_request"):
                reason = "cancelled"
        if not self._ends_the_turn():
            self._finish(session, prompt_id, reason)

    def _ends_the_turn(self) -> bool:
        return (self._params().get("update") or {}).get("state") == "idle"

    def _cancelled_id(self) -> Any:
        """Returns the id of the turn's prompt, which the example may cancel."""
        mentioned = self._params().get("requestId")
        is_clients = self._example.direction is OUT or self._example.method == "elicitation/create"
        return mentioned if mentioned is not None and is_clients else PROMPT_ID

    def _within(self, session: str) -> None:
        method = self._example.method
        names_session = method not in _UNBOUND or "sessionId" in self._params()
        self._made.session = session if names_session else None
        self._made.has_turn = names_session
        self._made.tool_call, self._made.terminal = self._tool_call(), self._terminal()
        if self._made.tool_call and not self._announces():
            self._announce(session, self._made.tool_call)
        if self._made.terminal and method != "terminal/create":
            self._create_terminal(session, self._made.terminal)
        if "connectionId" in self._params():
            self._connect(self._params()["connectionId"])
        if self._example.kind == "notification":
            if method == "$/cancel_request" and self._example.direction is IN:
                self._cancelled_by_agent(session)
            else:
                self._focus()
        else:
            self._exchange(OUT if self._asked_by_client() else IN, method)

    def _asked_by_client(self) -> bool:
        return (self._example.direction is OUT) is not self._is_answer

    def _announces(self) -> bool:
        """Whether the example itself is the first update of its tool call."""
        params = self._params()
        update = params.get("update") or {}
        return (params.get("type") or update.get("sessionUpdate")) == "tool_call"

    def _announce(self, session: str, call: str) -> None:
        if self._made.dialect == "draft-1.0":
            data: Json = {"id": call, "tool": "fs/write_text_file", "status": "pending"}
            data["input"] = {"path": f"{ROOT}/a.py"}
            self._say(
                IN, notification("session/update", sessionId=session, type="tool_call", data=data)
            )
            return
        kind = "tool_call_update" if self._made.dialect == "v2" else "tool_call"
        path = {"path": f"{ROOT}/a.py"}
        self._update(
            session,
            {"sessionUpdate": kind, "toolCallId": call, "title": "Edit a.py", "kind": "edit",
             "status": "pending", "locations": [path], "rawInput": path},
        )  # fmt: skip

    def _create_terminal(self, session: str, terminal: str) -> None:
        if self._made.dialect == "v2":
            state = {"sessionUpdate": "terminal_update", "terminalId": terminal, "command": "ls"}
            self._update(session, state)
            return
        bound = {} if self._made.dialect == "draft-1.0" else {"sessionId": session}
        rpc_id = self._fresh_id()
        self._say(IN, request(rpc_id, "terminal/create", **bound, command="ls", cwd=ROOT))
        self._answer(OUT, rpc_id, {"terminalId": terminal})

    def _connect(self, connection: str) -> None:
        rpc_id = self._fresh_id()
        self._say(IN, {**request(rpc_id, "mcp/connect"), "params": {"serverId": "srv-1"}})
        self._answer(OUT, rpc_id, {"connectionId": connection})

    def _cancelled_by_agent(self, session: str) -> None:
        rpc_id = self._message["params"]["requestId"]
        self._say(IN, request(rpc_id, "fs/read_text_file", sessionId=session, path=f"{ROOT}/a.py"))
        self._focus()
        cancelled = {"code": -32800, "message": "Request cancelled"}
        self._say(OUT, {"jsonrpc": "2.0", "id": rpc_id, "error": cancelled})

    def _prompt_itself(self, session: str) -> None:
        self._made.session, self._made.has_turn = session, True
        if not self._is_answer:
            self._focus()
            if self._made.dialect == "v2":
                self._answer(IN, self._message["id"], {})
            self._finish(session, self._message["id"])
            return
        rpc_id = self._message["id"]
        member = "content" if self._made.dialect == "draft-1.0" else "prompt"
        block = {"type": "text", "text": "Do it"}
        self._say(OUT, request(rpc_id, "session/prompt", sessionId=session, **{member: [block]}))
        self._focus()
        if self._made.dialect == "v2":
            self._finish(session, rpc_id)

    def _outside(self, method: str) -> None:
        """Adds the example between two turns."""
        if self._example.kind == "notification":
            self._focus()
        else:
            self._exchange(OUT, method)

    # Requests and answers

    def _exchange(
        self, asker: Direction, method: str, usual: tuple[Json, Json] | None = None
    ) -> None:
        """Adds a request and its answer; one of the two is the example."""
        answerer = IN if asker is OUT else OUT
        rpc_id = self._message["id"]
        if self._is_answer:
            params = usual[0] if usual else self._request_params(method)
            self._say(asker, {**request(rpc_id, method), "params": params})
            self._focus()
        else:
            self._focus()
            self._answer(answerer, rpc_id, usual[1] if usual else self._answer_to(method))

    def _request_params(self, method: str) -> Json:
        """Returns params for the request that the example answers."""
        for example in _same(self._made.dialect):
            if example.method == method and "params" in example.message:
                params: Json = copy.deepcopy(example.message["params"])
                break
        else:
            params = copy.deepcopy(_REQUESTS[method])
        if method in _REOPENING and "sessionId" in (self._message.get("result") or {}):
            params["sessionId"] = self._message["result"]["sessionId"]
        return params

    def _answer_to(self, method: str) -> Json | None:
        """Returns the result for a request, which may be the example itself."""
        if self._is_answer and self._example.method == method:
            answered: Json | None = self._message.get("result")
            return answered
        for example in _same(self._made.dialect):
            if example.method == method and example.message.get("result") is not None:
                shown: Json = copy.deepcopy(example.message["result"])
                if method in _REOPENING and "sessionId" in shown:
                    shown["sessionId"] = self._params()["sessionId"]
                return shown
        return copy.deepcopy(_ANSWERS.get(method, {}))

    def _fresh_id(self) -> int:
        self._next_id += 1
        return self._next_id

    def _update(self, session: str, update: Json) -> None:
        self._say(IN, notification("session/update", sessionId=session, update=update))

    def _answer(self, direction: Direction, rpc_id: Any, result: Json | None) -> None:
        self._say(direction, {"jsonrpc": "2.0", "id": rpc_id, "result": result})

    def _focus(self) -> None:
        self._made.focus = len(self._made.said)
        self._say(self._example.direction, self._message)

    def _say(self, direction: Direction, message: Json) -> None:
        self._made.said.append(Said(direction, message))


_CALL_UPDATES = ("tool_call", "tool_call_update", "tool_call_content_chunk")
_UNBOUND = ("elicitation/complete",
            "_auth/status_update", "_proxy/successor", "elicitation/create",
            "_zed.dev/workspace/buffers")  # fmt: skip
"""Methods that belong to the connection if they name no session."""


@cache
def _same(dialect: str) -> list[protocol_documents.Example]:
    """Returns the examples of a dialect; v2 also has the examples of v1."""
    shown = protocol_documents.draft() if dialect == "draft-1.0" else protocol_documents.official()
    rest = protocol_documents.schemas()
    own = [item for item in rest if DIALECTS.get(item.source.split(" ")[0]) == dialect]
    others = [item for item in rest if item.source.split(" ")[0] not in DIALECTS]
    first = [] if dialect == "v2" else shown
    return [*first, *own, *others, *(shown if dialect == "v2" else [])]


def _walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the members of all objects within a value, each with its key."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from _walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _walk(inner)


# Other runs

_AGENTS = {"sessionId", "senderSessionId", "recipientSessionId", "toolCallId", "planId",
           "messageId", "compactionId", "elicitationId", "promptId", "userMessageId"}  # fmt: skip
"""Names of members with ids that the agent chooses."""
_CLIENTS = {"terminalId", "connectionId"}
"""Names of members with ids that the client chooses; in v2, the agent chooses terminal ids."""
_TIMES = {"createdAt", "updatedAt", "expiresAt", "timestamp", "duration"}
_ELSEWHERE = "/srv/another/place"
_DIRECTORY = re.compile(rf"(?:(?<![\w/])|(?<=^file://)){ROOT}(?=/|$)")
_UNTYPED = {"rawInput", "rawOutput", "input"}
"""Names of members with input and output of tools, in which a replay replaces nothing."""


def renamed(
    message: Json, case: Surrounded, *, by_client: bool = False, by_agent: bool = False
) -> Json:
    """Returns a message as another run would have it, with other ids and directories.

    Args:
        message: the message.
        case: the conversation that it belongs to.
        by_client: whether the client has other ids, and works in another directory.
        by_agent: whether the agent has other ids, and the times are different.
    """
    return _Renaming(case, by_client=by_client, by_agent=by_agent).message(message)


class _Renaming:
    def __init__(self, case: Surrounded, *, by_client: bool, by_agent: bool) -> None:
        own, others = set(_CLIENTS), set(_AGENTS)
        if case.dialect == "v2":
            own, others = own - {"terminalId"}, others | {"terminalId"}
        if not by_client and case.example.method in _REOPENING:
            others.remove("sessionId")  # the client says which session it is
        self._ids = (own if by_client else set()) | (others if by_agent else set())
        self._moves, self._is_later = by_client, by_agent
        self._draft = case.dialect == "draft-1.0"
        self._asked = {OUT: by_client, IN: by_agent}
        self._case = case

    def message(self, message: Json) -> Json:
        """Returns a message with other ids, directories and times."""
        made: Json = self._value(message, "")
        if "id" in message and self._asked[self._asker(message)]:
            made["id"] = _other(message["id"])
        params = message.get("params") or {}
        if "requestId" in params and self._asked[self._canceller(message)]:
            made["params"]["requestId"] = _other(params["requestId"])
        if self._is_later and self._draft and message.get("method") == "session/update":
            self._draft_ids(made["params"])
        return made

    def _draft_ids(self, params: Json) -> None:
        data = params.get("data") or {}
        if params.get("type") in _CALL_UPDATES and "id" in data:
            data["id"] = _other(data["id"])
        for step in data.get("steps", ()):
            if "id" in step:
                step["id"] = _other(step["id"])

    def _asker(self, message: Json) -> Direction:
        """Returns the direction of the request with a message's id: its sender chose the id."""
        said = next(s for s in self._case.said if s.message == message)
        if "method" in message:
            return said.direction
        return IN if said.direction is OUT else OUT

    def _canceller(self, message: Json) -> Direction:
        """Returns the direction of the request that a cancel or an elicitation names."""
        if message["method"] == "elicitation/create":
            return OUT
        return next(s.direction for s in self._case.said if s.message == message)

    def _value(self, value: Any, key: str) -> Any:
        if isinstance(value, dict):
            kept = () if self._is_later else _UNTYPED
            return {n: v if n in kept else self._value(v, n) for n, v in value.items()}
        if isinstance(value, list):
            return [self._value(inner, key) for inner in value]
        if key in self._ids and isinstance(value, str):
            return _other(value)
        if self._is_later and key in _TIMES and value is not None:
            return value + 17 if isinstance(value, int | float) else "2031-05-06T07:08:09Z"
        if self._moves and isinstance(value, str):
            return _DIRECTORY.sub(_ELSEWHERE, value)
        return value


def _other(value: Any) -> Any:
    return value + 1000 if isinstance(value, int) else f"{value[:3]}-other-{value[3:]}"
