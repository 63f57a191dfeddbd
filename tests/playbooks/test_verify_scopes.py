"""`verify` grants a permission only for exactly the recorded action."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest
from attrs import field, frozen

from acp_proxy.store.queries.recorded_steps import RecordedSteps
from acp_proxy.store.reader import RecordingReader
from tests.support import captures
from tests.support.verify_playbook import LiveAgent, verify

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.playbook import Record, RecordedTranscript

PERMISSION = "session/request_permission"
DATA = captures.ROOT.parent
NOISE = frozenset({
    "title", "status", "toolCallId", "id", "call_id", "turn_id", "started_at_ms", "sessionId",
    "options", "_meta", "reason", "description", "sessionUpdate", "rawOutput", "output", "error",
    "duration", "requiresPermission", "line",
})  # fmt: skip
"""Members that do not describe the action."""
OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]
DIFF = {"type": "diff", "path": "/w/a", "oldText": "x", "newText": "y"}
CALL = {"toolCallId": "c", "title": "Do it", "kind": "execute"}


@frozen
class Case:
    """A recorded permission request, and the updates about its tool call before it."""

    name: str
    request: dict[str, Any]
    """The params of the request."""
    updates: tuple[dict[str, Any], ...] = field(default=())
    """The params of updates about its tool call."""
    cwd: str = "/w"
    is_nameless: bool = False
    """Whether nothing in the request distinguishes its action from other actions."""

    @property
    def is_draft(self) -> bool:
        """Whether the request has the form of the 1.0 draft."""
        return "options" not in self.request


def announced(**members: Any) -> dict[str, Any]:
    """Returns an update of v1 or v2 that announces the tool call of a synthetic case."""
    return {"sessionId": "s", "update": {"sessionUpdate": "tool_call", **CALL, **members}}


def asks(**params: Any) -> dict[str, Any]:
    """Returns the params of a permission request of v1 or v2."""
    return {"sessionId": "s", "options": OPTIONS, **params}


def drafted(**members: Any) -> dict[str, Any]:
    """Returns the params of an update of the 1.0 draft that announces a tool call."""
    return {"sessionId": "s", "type": "tool_call", "data": {"id": "c", **members}}


RAW = {"command": ["sh", "-c", "ls /w"], "cwd": "/w", "env": {"A": "1"}, "timeout": 5}
BARE = asks(toolCall={"toolCallId": "c"})
SYNTHETIC = [
    Case("v1, all in the request", asks(toolCall={**CALL, "rawInput": RAW})),
    Case("v1, a diff", asks(toolCall={**CALL, "content": [DIFF], "locations": [{"path": "/w/a"}]})),
    Case("v1, an id", BARE, (announced(rawInput=RAW, content=[DIFF]),)),
    Case("v1, an id and a change", BARE, (
        announced(kind="other", rawInput={}),
        {"sessionId": "s", "update": {"sessionUpdate": "tool_call_update", "toolCallId": "c",
                                      "kind": "edit", "locations": [{"path": "/w/b"}]}},
    )),
    Case("v1, a part in each", asks(toolCall={"toolCallId": "c", "locations": [{"path": "/w"}]}),
         (announced(rawInput={"url": "https://good.example/a", "method": "GET"}),)),
    Case("v1, an id of nothing", BARE, is_nameless=True),
    Case("v1, a title", asks(toolCall=CALL), is_nameless=True),
    Case("v2, a command", asks(title="Run?", subject={"type": "command", "command": "ls /w",
                                                      "cwd": "/w/src", "toolCallId": "c"})),
    Case("v2, a tool call", asks(title="Edit?", subject={"type": "tool_call", "toolCall": {
        **CALL, "content": [{"type": "diff", "changes": [{"path": "/w/a", "type": "edit"}]}]}})),
    Case("v2, an announced tool call",
         asks(title="Edit?", subject={"type": "tool_call", "toolCall": {"toolCallId": "c"}}),
         (announced(rawInput=RAW),)),
    Case("draft", {"sessionId": "s", "operation": "file_write", "resource": "/w/a"}),
    Case("draft, a command",
         {"sessionId": "s", "operation": "terminal_execute", "resource": "rm -r /w/x"}),
    Case("draft, a host",
         {"sessionId": "s", "operation": "network_access", "resource": "https://a.example"}),
    Case("draft, a tool call", {"sessionId": "s", "operation": "mcp_tool", "toolCallId": "c"},
         (drafted(tool="search", input={"query": "x"}, location={"path": "/w/a"}),)),
    Case("draft, an operation", {"sessionId": "s", "operation": "network_access"},
         is_nameless=True),
]  # fmt: skip


def found_in(name: str, messages: list[dict[str, Any]]) -> Iterator[Case]:
    """Yields the permission requests in a conversation."""
    updates: dict[str, list[dict[str, Any]]] = {}
    cwd: Any = "/nowhere"
    update: Any
    for message in messages:
        params = message.get("params") or {}
        if message.get("method") == "session/new":
            cwd = params.get("cwd") or params.get("workingDirectory")
        elif message.get("method") == "session/update":
            update = params.get("update") or params.get("data")
            if (call := update.get("toolCallId") or update.get("id")) is not None:
                updates.setdefault(call, []).append(params)
        elif message.get("method") == PERMISSION:
            call = (params.get("toolCall") or params).get("toolCallId")
            known = updates.get(call or "", [])
            yield Case(name, params, tuple(known), cwd, is_nameless=has_only_texts(params, known))


def has_only_texts(request: dict[str, Any], updates: list[dict[str, Any]]) -> bool:
    """Whether the action is described only by its kind and by texts."""
    case = Case("", request, tuple(updates))
    result = [*effective(case)]
    kinds = {"kind", "operation", "type", "tool", "text"}
    return not any(way[-1] not in kinds for _, way in result)


@cache
def cases() -> list[Case]:
    """Returns all permission requests in the repository, and one of each form."""
    result = [*SYNTHETIC]
    for path in captures.all_captures():
        if path.suffix == ".gz":  # asks for what the others ask for
            continue
        capture = captures.load(path)
        frames = (capture.stream_bytes(stream) for stream in ("to-agent", "to-client"))
        messages = [*decoded(b"\n".join(frames).split(b"\n"))]
        result += found_in(f"{path.parent.name}-{path.name}", messages)
    for path in sorted((DATA / "pairs").glob("*.jsonl")):
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        messages = [line["message"] for line in lines if isinstance(line.get("message"), dict)]
        result += found_in(path.name, messages)
    for path in sorted((DATA.parents[1] / "recordings").glob("*.db")):
        result += found_in(path.name, [*decoded(raw_frames(path))])
    for path in sorted((DATA / "protocol").glob("messages-*.jsonl")):
        lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        for line in lines:
            if line["message"].get("method") == PERMISSION:
                result += found_in(path.name, [line["message"]])
    return result


def decoded(frames: Any) -> Iterator[dict[str, Any]]:
    """Yields the JSON objects among lines."""
    for raw in frames:
        try:
            value = json.loads(raw)
        except ValueError:
            continue
        if isinstance(value, dict):
            yield value


def raw_frames(path: Path) -> Iterator[bytes]:
    """Yields all frames of a recording."""
    with RecordingReader(path, unredacted=True) as reader:
        script = RecordedSteps(reader)
        while steps := script.read():
            yield from (script.wire(step.seq).raw for step in steps)


Place = tuple[int, tuple[Any, ...]]
"""The index of a document of `documents_of`, and the path to a value in it."""


def documents_of(case: Case) -> list[dict[str, Any]]:
    """Returns copies of a case's updates, and of its request as the last item."""
    return copy.deepcopy([*case.updates, case.request])


def call_in(params: dict[str, Any]) -> tuple[str, ...] | None:
    """Returns the path to the tool call in the params of an update or a request."""
    if isinstance(params.get("subject"), dict) and "toolCall" in params["subject"]:
        return ("subject", "toolCall")
    return next(((name,) for name in ("update", "data", "toolCall") if name in params), None)


def at(value: Any, way: tuple[Any, ...]) -> Any:
    """Returns the value at a path."""
    for key in way:
        value = value[key]
    return value


def leaves(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yields the paths to all values within a value that describe the action."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in NOISE:
                yield from leaves(inner, (*way, name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from leaves(inner, (*way, place))
    elif value not in (None, ""):
        yield way


def effective(case: Case) -> Iterator[Place]:
    """Yields the places of the values that describe the action, each in its last document."""
    last: dict[str, Place] = {}
    docs = documents_of(case)
    for number, params in enumerate(docs):
        way = call_in(params)
        for name in at(params, way) if way else ():
            last[name] = number, (*(way or ()), name)
    for name, (number, way) in last.items():
        if name not in NOISE:
            for rest in leaves(at(docs[number], way)):
                yield number, (*way, *rest)
    for way in leaves(docs[-1]):
        called = call_in(docs[-1])
        if called is None or way[: len(called)] != called:
            yield len(docs) - 1, way


Said = list[dict[str, Any]]
"""The params of a live agent's messages: updates, and then the request."""


def changed(case: Case, place: Place, value: Any) -> Said:
    """Returns the documents of a case with one value replaced; `...` removes the value."""
    docs = documents_of(case)
    number, way = place
    holder = at(docs[number], way[:-1])
    if value is ...:
        del holder[way[-1]]
    else:
        holder[way[-1]] = value
    return docs


def mutations(case: Case) -> Iterator[tuple[str, Said]]:
    """Yields all changes that make the request ask for something else, with their names."""
    docs = documents_of(case)
    for place in effective(case):
        old = at(docs[place[0]], place[1])
        name = "/".join(map(str, place[1]))
        if isinstance(old, str):
            for new in (f"{old}x", "/etc/passwd", ""):
                yield f"{name} is {new!r}", changed(case, place, new)
        else:
            yield f"{name} is another", changed(case, place, not old if old is True else old + 1)
        if not is_known_before(docs, place):
            yield f"{name} is gone", changed(case, place, ...)
    for name, word in (("operation", "file_delete"), ("host", "evil"), ("path", "/etc")):
        docs = documents_of(case)
        docs[-1][name] = word
        yield f"{name} is new", docs
    if (way := call_in(case.request)) is None:
        return
    added: tuple[tuple[str, Any], ...] = (
        ("kind", "delete"),
        ("locations", [{"path": "/etc/passwd"}]),
        ("rawInput", {"command": "rm -rf /"}),
        ("content", [{**DIFF, "path": "/etc/passwd"}]),
        ("env", {"LD_PRELOAD": "/evil.so"}),
    )
    for name, value in added:
        docs = documents_of(case)
        call = at(docs[-1], way)
        known = call.get(name)
        call[name] = [*known, *value] if isinstance(known, list) else value
        yield f"{name} is new", docs


def is_known_before(docs: Said, place: Place) -> bool:
    """Whether an earlier update also has the member of the tool call at a place."""
    number, way = place
    earlier = ((params, call_in(params)) for params in docs[:number])
    return len(way) - 1 == len(call_in(docs[number]) or ()) and any(
        called is not None and way[-1] in at(params, called) for params, called in earlier
    )


def variations(case: Case) -> Iterator[tuple[str, Said]]:
    """Yields changes that do not matter, since they occur between any two runs."""
    yield "nothing", documents_of(case)
    text = json.dumps(documents_of(case))
    for call in {*ids(case)}:
        text = text.replace(json.dumps(call), json.dumps(f"other-{call}"))
    yield "ids", json.loads(text)
    docs = documents_of(case)
    for params in docs:
        params.update({name: "other" for name in ("reason", "title") if name in params})
        if (way := call_in(params)) is not None:
            at(params, way)["title"] = "Something else"
    yield "titles", docs
    docs = documents_of(case)
    docs[-1].get("options", []).reverse()
    yield "order of options", docs
    docs = documents_of(case)
    yield "chunking", [*(part for params in docs[:-1] for part in in_parts(params)), docs[-1]]


def ids(case: Case) -> Iterator[str]:
    """Yields the ids of the tool calls in a case."""
    for params in documents_of(case):
        way = call_in(params)
        call = at(params, way) if way else {}
        for holder in (params, params.get("subject") or {}, call):
            result = holder.get("toolCallId") or (way == ("data",) and holder.get("id"))
            if result:
                yield result


def in_parts(params: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields an update as several updates, each with one member of the tool call."""
    (name,) = call_in(params) or ("update",)
    names = ("toolCallId", "id", "sessionUpdate")
    first = {key: value for key, value in params[name].items() if key in names}
    yield {**params, name: first}
    for key, value in params[name].items():
        if key not in names:
            later = {**params, name: {**first, key: value}}
            if "type" in later:
                later["type"] = "tool_call_update"
            else:
                later[name]["sessionUpdate"] = "tool_call_update"
            yield later


def transcript(said: Said) -> list[str]:
    """Returns updates and a permission request as lines of a transcript."""
    words = [{**params, "sessionId": "s"} for params in said]
    updates = [f"session/update {json.dumps(params)}" for params in words[:-1]]
    return [f"<- {line}" for line in (*updates, f"#7 {PERMISSION} {json.dumps(words[-1])}")]


def answer(case: Case) -> dict[str, Any]:
    """Returns the recorded answer to a case, which grants permission."""
    if case.is_draft:
        return {"granted": True, "remember": True, "scope": "session"}
    options = case.request["options"]
    chosen = next(o["optionId"] for o in options if o["kind"].startswith("allow"))
    return {"outcome": {"outcome": "selected", "optionId": chosen}}


def recording(record: Record, case: Case) -> RecordedTranscript:
    """Makes a recording in which the client grants permission."""
    said = "\n".join(transcript(documents_of(case)))
    return record(f"""
        1-2 handshake
        3 -> #1 session/new {json.dumps({"cwd": case.cwd})}
        4 <- #1 result {{"sessionId": "s"}}
        5 -> #2 session/prompt {{"sessionId": "s"}}
        {said}
        -> #7 result {json.dumps(answer(case))}
        <- #2 result {{"stopReason": "end_turn"}}
    """)


def replies(recorded: RecordedTranscript, said: Said, **options: Any) -> tuple[Any, LiveAgent]:
    """Sends updates and a request to `verify`; returns its answer and the verification."""
    live = verify(recorded, **options)
    for line in ("<- 2", "<- 4", *transcript(said)):
        heard = live.play(line)
    (reply,) = heard
    if reply.removeprefix("-> ").isdigit():
        return json.loads(recorded.raw[int(reply.removeprefix("-> "))])["result"], live
    return json.loads(reply.removeprefix("-> "))["result"], live


def check_refused(case: Case, reply: Any, live: LiveAgent) -> None:
    """Asserts that `verify` has denied the request, and reported this."""
    if case.is_draft:
        assert reply == {"granted": False}
    else:
        kinds = {o["optionId"]: o["kind"] for o in case.request["options"]}
        chosen = reply["outcome"].get("optionId")
        assert reply["outcome"]["outcome"] == "cancelled" or kinds[chosen].startswith("reject")
    assert [divergence.kind for divergence in live.divergences] == ["permission-differs"]


@pytest.fixture(params=range(len(cases())), ids=lambda place: cases()[place].name)
def case(request: pytest.FixtureRequest) -> Case:
    """Runs a test for each permission request of `cases`."""
    place: int = request.param
    return cases()[place]


def test_permission_for_anything_else_is_refused(record: Record, case: Case) -> None:
    """If a permission request asks for anything else than recorded, `verify` denies it."""
    recorded = recording(record, case)
    changes = [*mutations(case)]
    assert len(changes) > 2
    for name, said in changes:
        reply, live = replies(recorded, said)
        try:
            check_refused(case, reply, live)
        except AssertionError as e:
            raise AssertionError(f"{name}: {json.dumps(said)} was answered {reply}") from e


def test_permission_for_the_same_is_granted(record: Record, case: Case) -> None:
    """`verify` grants a recorded permission again, even with other ids, titles and chunks."""
    recorded = recording(record, case)
    for name, said in variations(case):
        reply, live = replies(recorded, said)
        if case.is_nameless:
            check_refused(case, reply, live)
        else:
            assert (name, reply, live.divergences) == (name, answer(case), [])


def test_permission_is_granted_in_another_directory(record: Record, case: Case) -> None:
    """If the live directory differs, `verify` still grants the recorded permission."""
    text = json.dumps(documents_of(case))
    said = json.loads(text.replace(case.cwd, "/live/here"))
    reply, live = replies(recording(record, case), said, roots={case.cwd: "/live/here"})
    if case.is_nameless:
        check_refused(case, reply, live)
    else:
        assert (reply, live.divergences) == (answer(case), [])


def test_there_are_cases_of_all_forms() -> None:
    """The permission requests that test `verify` include those of the 1.0 draft and of v1 or v2."""
    named = [case for case in cases() if not case.is_nameless]
    assert len(cases()) > 30
    assert len(named) > 20
    assert {case.is_draft for case in named} == {True, False}
