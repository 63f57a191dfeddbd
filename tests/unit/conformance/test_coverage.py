"""A coverage counts what recordings exercise, with first places and answers, and lists gaps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from acp_proxy.conformance.coverage import Coverage
from acp_proxy.conformance.coverage_items import Standing
from acp_proxy.store.reader import RecordingReader
from tests.captures import ROOT
from tests.judged import HANDSHAKES, reader_of

if TYPE_CHECKING:
    from acp_proxy.conformance.coverage import CoverageItem, CoverageSection, DialectCoverage


def covered(*conversations: list[str], dialect: str | None = None) -> DialectCoverage:
    """Returns the coverage of conversations in one dialect."""
    coverage = Coverage()
    for lines in conversations:
        coverage.add(reader_of(lines), dialect)
    (found,) = coverage.report().dialects
    return found


def handshake(name: str) -> list[str]:
    """Writes the first two lines of a conversation."""
    params, result = HANDSHAKES[name]
    return [f"-> #0 initialize {json.dumps(params)}", f"<- #0 result {json.dumps(result)}"]


def section(found: DialectCoverage, name: str) -> CoverageSection:
    """Returns a section."""
    return next(one for one in found.sections if one.name == name)


def item(found: DialectCoverage, name: str, what: str) -> CoverageItem:
    """Returns an item of a section."""
    return next(one for one in section(found, name).items if one.name == what)


def counts(found: DialectCoverage, name: str) -> dict[str, int]:
    """Returns how often each item of a section was seen."""
    return {one.name: one.count for one in section(found, name).seen_items}


def update(kind: str, /, **members: Any) -> str:
    """Writes a session update of v1 or v2."""
    params = {"sessionId": "s", "update": {"sessionUpdate": kind, **members}}
    return f"<- session/update {json.dumps(params)}"


V1 = handshake("a v1 handshake")


def test_methods_are_counted_with_their_answers() -> None:
    """Results, errors and what has no answer; the first frame; and what was not seen."""
    lines = [
        *V1,
        '-> #1 session/new {"cwd": "/p", "mcpServers": []}',
        '<- #1 result {"sessionId": "s"}',
        '-> #2 session/new {"cwd": "/q", "mcpServers": []}',
        '<- #2 error {"code": -32603, "message": "no"}',
        '-> #3 session/new {"cwd": "/r", "mcpServers": []}',
        '-> session/cancel {"sessionId": "s"}',
    ]
    found = covered(lines)
    one = item(found, "client methods", "session/new")
    assert (one.count, one.recordings, one.standing) == (3, 1, Standing.STABLE)
    assert one.answers == {"result": 1, "error": 1, "cancelled": 0, "unanswered": 1}
    assert one.first is not None
    assert (one.first.name, one.first.seq) == ("judged", 3)
    assert item(found, "client methods", "session/cancel").answers is None
    assert section(found, "client methods").seen == 3
    assert "session/prompt" in section(found, "client methods").gaps()
    assert "session/fork" in section(found, "client methods").gaps(Standing.UNSTABLE)
    error = item(found, "agent errors", "-32603")
    assert (error.count, error.text) == (1, "internal error")
    assert section(found, "agent errors").gaps() == []


def test_contents_and_tool_calls_are_counted() -> None:
    """Blocks of prompts and of the agent apart; kinds, statuses and contents of tool calls."""
    prompt = [{"type": "text", "text": "a"}, {"type": "image", "data": "", "mimeType": "x"}]
    content = [
        {"type": "content", "content": {"type": "audio", "data": "", "mimeType": "x"}},
        {"type": "diff", "path": "/p", "newText": ""},
    ]
    lines = [
        *V1,
        f"-> #1 session/prompt {json.dumps({'sessionId': 's', 'prompt': prompt})}",
        update("agent_message_chunk", content={"type": "text", "text": "b"}),
        update("agent_thought_chunk", content={"type": "resource_link", "name": "", "uri": "u"}),
        update("tool_call", toolCallId="c", title="", kind="edit", status="pending"),
        update("tool_call_update", toolCallId="c", status="completed", content=content),
        '<- #1 result {"stopReason": "end_turn"}',
    ]
    found = covered(lines)
    assert counts(found, "prompt content") == {"text": 1, "image": 1}
    assert counts(found, "agent content") == {"text": 1, "audio": 1, "resource_link": 1}
    assert counts(found, "tool kinds") == {"edit": 1}
    assert counts(found, "tool statuses") == {"pending": 1, "completed": 1}
    assert counts(found, "tool content") == {"content": 1, "diff": 1}
    assert counts(found, "stop reasons") == {"end_turn": 1}
    assert counts(found, "session updates") == {
        "agent_message_chunk": 1, "agent_thought_chunk": 1, "tool_call": 1, "tool_call_update": 1,
    }  # fmt: skip


def permission(number: int, outcome: dict[str, Any]) -> list[str]:
    """Writes a permission request of v1 and its answer."""
    options = [
        {"optionId": "y", "name": "", "kind": "allow_once"},
        {"optionId": "n", "name": "", "kind": "reject_once"},
    ]
    params = {"sessionId": "s", "toolCall": {"toolCallId": "c"}, "options": options}
    return [
        f"<- #{number} session/request_permission {json.dumps(params)}",
        f"-> #{number} result {json.dumps({'outcome': outcome})}",
    ]


def test_the_outcome_of_a_permission_is_the_kind_of_its_option() -> None:
    """Ids are free text, so the request says what was selected."""
    lines = [
        *V1,
        *permission(1, {"outcome": "selected", "optionId": "n"}),
        *permission(2, {"outcome": "cancelled"}),
        *permission(3, {"outcome": "selected", "optionId": "what?"}),
    ]
    found = covered(lines)
    assert counts(found, "permission options") == {"allow_once": 3, "reject_once": 3}
    assert counts(found, "permission outcomes") == {
        "reject_once": 1, "cancelled": 1, "selected": 1,
    }  # fmt: skip
    assert item(found, "permission outcomes", "selected").standing is Standing.UNKNOWN


def test_a_capability_is_announced_and_used() -> None:
    """What is false, or an empty group, is not announced; use is counted in all recordings."""
    params = {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True}}}
    agent = {
        "loadSession": False,
        "auth": {},
        "sessionCapabilities": {"list": {}, "fork": None, "teleport": {"far": True}},
        "_meta": {"own": {"x": 1}},
    }
    result = {"protocolVersion": 1, "agentCapabilities": agent}
    lines = [
        f"-> #0 initialize {json.dumps(params)}",
        f"<- #0 result {json.dumps(result)}",
        '<- #0 fs/read_text_file {"sessionId": "s", "path": "/p"}',
        '<- #1 fs/read_text_file {"sessionId": "s", "path": "/p"}',
    ]
    found = covered(lines, lines)
    assert counts(found, "client capabilities") == {"fs.readTextFile": 2}
    assert item(found, "client capabilities", "fs.readTextFile").used == 4
    assert item(found, "client capabilities", "terminal").used == 0
    assert counts(found, "agent capabilities") == {
        "sessionCapabilities.list": 2, "sessionCapabilities.teleport": 2, "_meta.own": 2,
    }  # fmt: skip
    assert item(found, "agent capabilities", "sessionCapabilities.teleport").used is None


def test_what_sessions_are_opened_with_is_seen() -> None:
    """The types of MCP servers, also without one; and members by which capabilities are used."""
    servers = [
        {"name": "a", "command": "/a", "args": [], "env": []},
        {"name": "b", "type": "sse", "url": "u", "headers": []},
    ]
    new = {"cwd": "/p", "mcpServers": servers, "additionalDirectories": ["/q"]}
    found = covered([*V1, f"-> #1 session/new {json.dumps(new)}"])
    assert counts(found, "MCP servers") == {"stdio": 1, "sse": 1}
    assert item(found, "agent capabilities", "mcpCapabilities.sse").used == 1
    assert item(found, "agent capabilities", "sessionCapabilities.additionalDirectories").used == 1
    assert all(one.name != "session members" for one in found.sections)
    assert counts(found, "login methods") == {"agent": 1}


def test_v2_and_the_draft_are_read_in_their_forms() -> None:
    """States and whole messages of v2; operations, outputs and decisions of the 1.0 draft."""
    message = [{"type": "text", "text": ""}, {"type": "image", "data": "", "mimeType": "x"}]
    chunk = {"type": "terminal", "terminalId": "t"}
    v2 = covered(
        [
            *handshake("a v2 handshake"),
            update("state_update", state="idle", stopReason="refusal"),
            update("agent_message", messageId="m", content=message),
            update("tool_call_content_chunk", toolCallId="c", content=chunk),
        ]
    )
    assert v2.dialect == "v2"
    assert counts(v2, "session states") == {"idle": 1}
    assert counts(v2, "stop reasons") == {"refusal": 1}
    assert counts(v2, "agent content") == {"text": 1, "image": 1}
    assert counts(v2, "tool content") == {"terminal": 1}
    draft = covered(
        [
            *handshake("a 1.0 draft handshake"),
            '<- session/update {"sessionId": "s", "type": "agent_message_chunk",'
            ' "data": {"content": "hello"}}',
            '<- session/update {"sessionId": "s", "type": "tool_call", "data": {"id": "c",'
            ' "status": "denied", "output": {"type": "diff"}}}',
            '<- #1 session/request_permission {"sessionId": "s", "operation": "file_read",'
            ' "resource": "/p"}',
            '-> #1 result {"granted": false}',
        ]
    )
    assert draft.dialect == "draft-1.0"
    assert counts(draft, "agent content") == {"text": 1}
    assert counts(draft, "tool statuses") == {"denied": 1}
    assert counts(draft, "tool content") == {"diff": 1}
    assert counts(draft, "permission outcomes") == {"denied": 1}
    assert "sessionCapabilities.modes" in counts(draft, "agent capabilities")


def test_recordings_are_added_up_by_dialect() -> None:
    """Counts and recordings are sums, the first place is in the first recording that has it."""
    coverage = Coverage()
    coverage.add(reader_of([*V1, "-> #1 logout {}"]))
    coverage.add(reader_of(handshake("a v2 handshake")))
    coverage.add(reader_of([*V1, "-> #1 logout {}", "-> #2 session/list {}"]))
    v1, v2 = coverage.report().dialects
    assert [len(v1.recordings), len(v2.recordings)] == [2, 1]
    logout, listing = (item(v1, "client methods", name) for name in ("logout", "session/list"))
    assert (logout.count, logout.recordings) == (2, 2)
    assert (listing.count, listing.recordings) == (1, 1)
    assert v1.seen == sum(one.seen for one in v1.sections)
    assert v1.recordings[1].frames == 4


def test_nothing_is_missing_where_the_dialect_is_unknown() -> None:
    """What was seen is listed with its standing in any dialect; a dialect can be forced."""
    lines = ["-> #1 session/fork {}", "<- _own {}"]
    found = covered(lines)
    assert (found.dialect, found.defined) == (None, 0)
    assert [(one.name, one.by) for one in found.sections] == [
        ("client methods", "client"),
        ("agent methods", "agent"),
    ]
    assert item(found, "client methods", "session/fork").standing is Standing.UNSTABLE
    assert item(found, "agent methods", "_own").standing is Standing.EXTENSION
    forced = covered(lines, dialect="v2")
    assert forced.dialect == "v2"
    assert forced.recordings[0].dialect_reason == "forced by --dialect"
    assert "session/new" in section(forced, "client methods").gaps()


def test_names_that_nobody_defined_are_bounded() -> None:
    """Two hundred are kept, the others counted; long and invisible ones are made harmless."""
    found = covered([*V1, *(f"<- _own/{n} {{}}" for n in range(205)), f"-> _{'x' * 500} {{}}"])
    methods = section(found, "agent methods")
    assert len(methods.seen_items) == 200
    assert methods.left_out == 5
    assert max(map(len, counts(found, "client methods"))) == 100
    lines = ['<- {"jsonrpc": "2.0", "method": "_\\ud800\\u202e", "params": {}}']
    assert [*counts(covered([*V1, *lines]), "agent methods")] == ["_\\ud800\\u202e"]


def test_messages_of_a_batch_count_one_by_one() -> None:
    """Two requests on one line are two."""
    request = '{"jsonrpc": "2.0", "id": %d, "method": "session/list", "params": {}}'
    found = covered([*V1, f"-> [{request % 1}, {request % 2}]"])
    assert counts(found, "client methods")["session/list"] == 2


def test_of_a_large_line_only_the_labels_count() -> None:
    """Its method and the kind of its update; the recording says that it was not decoded."""
    large = {"type": "image", "data": "x" * (3 << 20), "mimeType": "x"}
    found = covered([*V1, update("agent_message_chunk", content=large)])
    assert counts(found, "session updates") == {"agent_message_chunk": 1}
    assert counts(found, "agent content") == {}
    assert found.recordings[0].unread == [3]


def test_odd_values_are_passed_over() -> None:
    """Whatever stands where a list, an object or a word should be, nothing is raised."""
    odd: list[Any] = [None, 1, "x", [], [[]], {}, [{}], {"type": []}, [{"type": {}}], True]
    lines = [*V1]
    for n, value in enumerate(odd, 10):
        text = json.dumps(value)
        lines += [
            f'-> #{n} session/new {{"cwd": {text}, "mcpServers": {text}}}',
            f'<- #{n} result {{"configOptions": {text}}}',
            f'-> #{n} session/prompt {{"sessionId": "s", "prompt": {text}}}',
            f'<- #{n} result {{"stopReason": {text}}}',
            f'-> #{n} initialize {{"clientCapabilities": {text}, "capabilities": {text}}}',
            f'<- #{n} result {{"agentCapabilities": {text}, "authMethods": {text}}}',
            f'<- #{n} session/request_permission {{"options": {text}, "toolCall": {text}}}',
            f'-> #{n} result {{"outcome": {text}}}',
            f'<- session/update {{"update": {{"sessionUpdate": "tool_call", "content": {text}}}}}',
            f'<- session/update {{"update": {{"sessionUpdate": "plan", "content": {text}}}}}',
            f'<- session/update {{"update": {text}, "type": {text}, "data": {text}}}',
            f"-> #{n} session/list {text}",
            f'<- #{n} error {{"code": {text}}}',
        ]
    assert covered(lines).seen


def test_real_recordings_exercise_what_their_agents_did() -> None:
    """A conversation of claude-agent-acp: permissions, plans, and an extension of its own."""
    coverage = Coverage()
    with RecordingReader(ROOT / "claude-agent-acp-0.101.0.jsonl") as reader:
        coverage.add(reader)
    (found,) = coverage.report().dialects
    assert found.dialect == "v1"
    assert 0 < found.seen < found.defined
    assert {"initialize", "session/new", "session/prompt"} <= {*counts(found, "client methods")}
    assert item(found, "agent methods", "_auth/status_update").standing is Standing.EXTENSION
    fork = item(found, "agent capabilities", "sessionCapabilities.fork")
    assert (fork.standing, fork.count, fork.used) == (Standing.UNSTABLE, 1, 0)
    assert found.recordings[0].unread == []
