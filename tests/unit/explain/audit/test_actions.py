"""For `audit`, tool calls, permission requests and client requests are actions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.audit_conversation import ALLOW, ALWAYS, CWD, OPTIONS, REJECT, Talk, edit, shell
from tests.support.log_writer import error, request, result

A = f"{CWD}/a.py"
Found = tuple[str, str, str, list[str]]


def actions(conversation: Talk) -> list[Found]:
    """Returns the kind, status, source and paths of each action that `audit` lists."""
    return [
        (a.kind, a.status, a.source, [path.shown for path in a.paths])
        for a in conversation.audit().actions
    ]


def test_a_file_that_the_client_reads() -> None:
    """`audit` lists each file that the client has read for the agent."""
    conversation = Talk()
    conversation.asks("fs/read_text_file", {"content": "x"}, path=A)
    action = conversation.action()
    assert (action.kind, action.status, action.source) == ("read", "done", "client")
    assert (action.seq, action.turn, action.session) == (6, 1, "s")
    assert action.at == "2025-01-01T00:00:06.000+00:00"
    assert [(r.seq, r.answer_seq, r.outcome) for r in action.requests] == [(6, 7, "result")]
    assert action.permissions == []


def test_what_the_client_refused_and_what_it_left_open() -> None:
    """`audit` shows a write as failed if the client refused it, and as unanswered if it is open."""
    conversation = Talk()
    conversation.asks_in_vain("fs/write_text_file", path=A, content="")
    conversation.asks("fs/write_text_file", None, path=A, content="")
    failed, opened = conversation.audit().actions
    assert (failed.status, failed.requests[0].error) == ("failed", "-32603 no disk")
    assert opened.status == "unanswered"


def test_a_tool_call_and_its_write_are_one_action() -> None:
    """`audit` lists a tool call and the file request made for it as one action."""
    conversation = Talk()
    conversation.call("c", **edit(A))
    conversation.permission(ALLOW, {"toolCallId": "c"})
    conversation.asks("fs/write_text_file", {}, path=f"{CWD}/./src/../a.py", content="x")
    conversation.ends("c")
    action = conversation.action()
    assert (action.seq, action.call_seq, action.seqs) == (6, 11, [6, 7, 8, 9, 10, 11])
    assert (action.source, action.status, action.call_status) == ("client", "done", "completed")
    (permission,) = action.permissions
    assert (permission.seq, permission.answer_seq, permission.decision) == (7, 8, "granted")
    assert (permission.option, permission.name) == ("allow_once", "Allow")
    assert permission.waited_ns == 10**9


def test_a_read_within_an_edit_is_an_action_of_its_own() -> None:
    """If the agent reads a file that it edits, `audit` lists the read as an action of its own."""
    conversation = Talk()
    conversation.call("c", **edit(A))
    conversation.asks("fs/read_text_file", {"content": "x"}, path=A)
    assert actions(conversation) == [
        ("write", "unknown", "claimed", ["a.py"]),
        ("read", "done", "client", ["a.py"]),
    ]
    assert conversation.audit().actions[1].tool_call == "c"


def test_two_calls_with_one_path_are_not_told_apart() -> None:
    """If a file request fits two open tool calls, `audit` says that it may belong to either."""
    conversation = Talk()
    conversation.call("c", **edit(A))
    conversation.call("d", **edit(A))
    conversation.asks("fs/write_text_file", {}, path=A, content="x")
    first, second, written = conversation.audit().actions
    assert first.perhaps_same_as == second.perhaps_same_as == [3]
    assert written.perhaps_same_as == [1, 2]


def test_a_call_that_is_over_is_not_that_of_a_later_request() -> None:
    """`audit` does not join a file request to a tool call that has already ended."""
    conversation = Talk()
    conversation.call("c", kind="read", locations=[{"path": A}], status="completed")
    conversation.asks("fs/read_text_file", {"content": "x"}, path=A)
    claimed, read = conversation.audit().actions
    assert (claimed.source, read.source) == ("claimed", "client")
    assert claimed.perhaps_same_as == [2]


@pytest.mark.parametrize("announced_first", [True, False])
def test_a_terminal_belongs_to_the_call_that_shows_it(announced_first: bool) -> None:
    """`audit` joins a terminal to the tool call that shows it."""
    conversation = Talk()
    if announced_first:
        conversation.call("c", **shell("make all"))
    conversation.asks(
        "terminal/create", {"terminalId": "t"}, command="make", args=["a b"], cwd="/tmp"
    )
    shown = {"content": [{"type": "terminal", "terminalId": "t"}]}
    if announced_first:
        conversation.ends("c", "in_progress", **shown)
    else:
        conversation.call("c", **shell("make all"), **shown)
    conversation.asks("terminal/wait_for_exit", {"exitCode": 2}, terminalId="t")
    conversation.ends("c", "failed")
    action = conversation.action()
    assert (action.seq, action.kind, action.status, action.source) == (6, "run", "done", "client")
    assert (action.command, action.exit_code, action.terminal) == ("make 'a b'", 2, "t")
    assert action.directory is not None
    assert (action.directory.shown, action.directory.place) == ("/tmp", "outside")


def test_a_terminal_whose_end_is_not_recorded_was_started() -> None:
    """If the exit status of a command is not recorded, `audit` shows the command as started."""
    for answer, status in (
        ({}, "started"),
        ({"exitStatus": {"signal": "SIGKILL"}}, "done"),
        ({"exitStatus": {"exitCode": 0}}, "done"),
    ):
        conversation = Talk()
        conversation.asks("terminal/create", {"terminalId": "t"}, command="make")
        conversation.asks("terminal/output", {"output": "", **answer}, terminalId="t")
        assert conversation.action().status == status


def test_a_call_that_is_only_asked_for() -> None:
    """If only a permission request names a tool call, `audit` lists the call with the decision."""
    for chosen, decision, status in (
        (REJECT, "denied", "refused"),
        (None, "cancelled", "cancelled"),
        (ALLOW, "granted", "unknown"),
    ):
        conversation = Talk()
        where = f"[current working directory {CWD}/../other]"
        content = [{"type": "content", "content": {"type": "text", "text": where}}]
        call = {"toolCallId": "c", "status": "pending", "title": "ls", "kind": "execute"}
        conversation.permission(chosen, {**call, "content": content})
        action = conversation.action()
        assert action.permissions[0].decision == decision
        assert (action.kind, action.status, action.title) == ("run", status, "ls")
        assert action.directory is not None
        assert (action.directory.shown, action.directory.place) == ("/proj/other", "outside")


def test_what_an_agent_does_itself_is_claimed() -> None:
    """If an agent says that it has changed a file itself, `audit` marks this as a claim."""
    conversation = Talk()
    arguments = {"command": ["/bin/bash", "-lc", "it's"], "cwd": f"{CWD}/sub"}
    conversation.call("c", kind="execute", title="it's", rawInput=arguments)
    conversation.ends("c", rawOutput={"exit_code": 0})
    conversation.call("d", kind="edit", content=[{"type": "diff", "path": A, "oldText": None}])
    conversation.ends("d")
    conversation.call("e", kind="fetch", title="Fetch", rawInput={"url": "https://example.com/x"})
    conversation.call("f", kind="move", rawInput={"source": "a.py", "destination": "../b.py"})
    conversation.call("g", kind="delete", rawInput={"path": "/etc/hosts"})
    run, write, fetch, move, delete = conversation.audit().actions
    assert run.command == '/bin/bash -lc "it\'s"'
    assert run.directory is not None
    assert (run.directory.shown, run.status, run.source) == ("sub", "done", "claimed")
    assert write.paths[0].operation == "add"
    assert (fetch.url, fetch.status) == ("https://example.com/x", "unknown")
    assert [(path.shown, path.place) for path in move.paths] == [
        ("a.py", "inside"), ("/proj/b.py", "outside"),
    ]  # fmt: skip
    assert (delete.kind, delete.paths[0].place) == ("delete", "outside")


def test_a_diff_is_a_write_whatever_its_call_is_named() -> None:
    """`audit` lists a tool call with a diff as a write."""
    conversation = Talk()
    conversation.call("c", kind="read", content=[{"type": "diff", "path": A, "oldText": ""}])
    conversation.call("d", kind="think", content=[{"type": "terminal", "terminalId": "t"}])
    assert [action.kind for action in conversation.audit().actions] == ["write", "run"]


def test_an_earlier_lasting_answer_may_cover_a_later_action() -> None:
    """If an earlier answer "always allow" may cover an action, `audit` names that answer."""
    conversation = Talk()
    conversation.permission(ALWAYS, {"toolCallId": "c", **shell("npm test")})
    conversation.prompt()
    conversation.call("d", **shell("rm -r x"))
    conversation.call("e", **edit(A))
    _, run, write = conversation.audit().actions
    (earlier,) = run.perhaps_allowed_by
    assert (earlier.answer_seq, earlier.name, earlier.title) == (7, "Always allow", "npm test")
    assert write.perhaps_allowed_by == []


def test_the_mode_of_the_session_is_kept() -> None:
    """`audit` shows each action with the session mode at the time of the action."""
    conversation = Talk()
    conversation.client_asks("session/set_mode", {}, sessionId="s", modeId="yolo")
    conversation.update("current_mode_update", currentModeId="yolo")
    conversation.call("c", **edit(A))
    assert conversation.action().mode == "yolo"


def test_history_is_no_action() -> None:
    """`audit` does not list tool calls in the history of a loaded session."""
    conversation = Talk()
    conversation.to_client(result(3, stopReason="end_turn"))
    conversation.to_agent(request(9, "session/load", sessionId="s", cwd="/new", mcpServers=[]))
    conversation.call("c", **edit(A))
    conversation.to_client(result(9))
    assert conversation.audit().actions == []
    conversation.call("d", **edit("/new/b.py"))
    assert actions(conversation) == [("write", "unknown", "claimed", ["b.py"])]


def test_a_call_id_that_is_used_again_in_another_turn() -> None:
    """If a later turn reuses the id of a tool call, `audit` lists a second action."""
    conversation = Talk()
    conversation.call("c", **edit(A))
    conversation.ends("c")
    conversation.prompt()
    conversation.call("c", **shell("ls"))
    conversation.ends("c")
    conversation.prompt()
    conversation.permission(ALLOW, {"toolCallId": "c", "kind": "delete"})
    assert [action.kind for action in conversation.audit().actions] == ["write", "run", "delete"]


@pytest.mark.parametrize("dialect", ["v1", "v2"])
def test_a_call_id_that_is_used_again_in_a_turn(dialect: str) -> None:
    """If a read reuses the id of an earlier write, `audit` keeps the permission with the write."""
    conversation = Talk(dialect)
    conversation.call("c", **edit(A))
    conversation.permission(ALLOW, {"toolCallId": "c"})
    conversation.ends("c")
    conversation.call("c", kind="read", title="Read b.py", locations=[{"path": f"{CWD}/b.py"}])
    conversation.ends("c", "failed")
    first, second = conversation.audit().actions
    assert (first.kind, first.call_status, len(first.permissions)) == ("write", "completed", 1)
    assert (second.kind, second.call_status, second.permissions) == ("read", "failed", [])


def test_a_call_id_that_is_used_again_in_a_turn_of_the_draft() -> None:
    """In the 1.0 draft, `audit` lists two tool calls with one id, each with its own tool."""
    conversation = Talk("draft-1.0")
    for tool in ("fs/write_text_file", "fs/read_text_file"):
        conversation.call("c", tool=tool)
        conversation.ends("c")
    assert [action.tool for action in conversation.audit().actions] == [
        "fs/write_text_file", "fs/read_text_file",
    ]  # fmt: skip


def test_a_call_id_that_is_used_again_in_a_permission_request() -> None:
    """`audit` joins a permission request that reuses an id to the next tool call with this id."""
    conversation = Talk()
    conversation.call("c", **shell("ls"))
    conversation.ends("c")
    conversation.permission(ALLOW, {"toolCallId": "c", **edit(A)})
    conversation.call("c", **edit(A))
    conversation.ends("c")
    assert [(a.kind, len(a.permissions), a.status) for a in conversation.audit().actions] == [
        ("run", 0, "done"), ("write", 1, "done"),
    ]  # fmt: skip


def test_v2_tells_of_terminals_of_the_agent() -> None:
    """In ACP v2, `audit` lists the commands that terminal updates of the agent report."""
    conversation = Talk("v2")
    conversation.pause_ms = 1  # updates that are streamed, and yet each is read
    subject = {"type": "command", "command": "npm test", "cwd": CWD, "toolCallId": "c"}
    conversation.asks(
        "session/request_permission", {"outcome": {"outcome": "selected", "optionId": "1"}},
        title="Run the tests?", subject=subject, options=OPTIONS,
    )  # fmt: skip
    conversation.update("agent_message_chunk", content={"type": "text", "text": "x"})
    conversation.update("terminal_update", terminalId="t", command="npm test", cwd=CWD)
    conversation.call("c", kind="execute", content=[{"type": "terminal", "terminalId": "t"}])
    conversation.update("terminal_update", terminalId="t", exitStatus={"exitCode": 1})
    changes = [
        {"operation": "delete", "path": f"{CWD}/c.py"},
        {"operation": "move", "oldPath": A, "path": "/e.py"},
    ]
    conversation.call("d", kind="edit")
    conversation.update(
        "tool_call_content_chunk", toolCallId="d", content={"type": "diff", "changes": changes}
    )
    run, write = conversation.audit().actions
    assert (run.command, run.exit_code, run.status) == ("npm test", 1, "done")
    assert (run.permissions[0].title, run.permissions[0].decision) == ("Run the tests?", "granted")
    assert run.directory is not None
    assert run.directory.shown == "."
    assert [(path.shown, path.operation, path.place.value) for path in write.paths] == [
        ("c.py", "delete", "inside"), ("a.py", "move", "inside"), ("/e.py", "move", "outside"),
    ]  # fmt: skip


def test_the_draft_names_operations_and_no_session() -> None:
    """In the 1.0 draft, `audit` joins a file request without a session to its tool call."""
    conversation = Talk("draft-1.0")
    conversation.call("c", tool="fs/write_text_file", input={"path": A}, requiresPermission=True)
    conversation.asks(
        "session/request_permission", {"granted": True, "remember": True, "scope": "session"},
        sessionId="s", operation="file_write", resource=A, reason="fix it", toolCallId="c",
    )  # fmt: skip
    conversation.asks(
        "fs/write_text_file", {"bytesWritten": 1, "created": False}, path=A, content=""
    )
    conversation.ends("c", output={"type": "diff", "path": A})
    action = conversation.action()
    assert (action.kind, action.status, action.source) == ("write", "done", "client")
    (permission,) = action.permissions
    assert (permission.option, permission.lasting) == ("session", True)


def test_the_draft_may_ask_without_a_tool_call() -> None:
    """In the 1.0 draft, `audit` lists the operation of a permission request without a tool call."""
    conversation = Talk("draft-1.0")
    for operation, resource in (("terminal_execute", "npm test"), ("file_delete", A)):
        conversation.asks(
            "session/request_permission", {"granted": operation != "file_delete"},
            sessionId="s", operation=operation, resource=resource,
        )  # fmt: skip
    conversation.asks("terminal/create", {"terminalId": "t"}, command="npm", args=["test"], cwd=CWD)
    run, delete = conversation.audit().actions
    assert (run.source, run.status, run.permissions[0].decision) == ("client", "started", "granted")
    assert (delete.kind, delete.status, delete.source) == ("delete", "refused", "claimed")


def test_requests_of_unknown_methods() -> None:
    """`audit` lists a request of the agent with an unknown method as an action of kind `other`."""
    conversation = Talk()
    conversation.asks("fs/delete", {}, path=A)
    conversation.asks("mcp/message", {}, connectionId="m", method="tools/call")
    conversation.asks("elicitation/create", {"action": "accept"}, message="Name?")
    below_fs, other = conversation.audit().actions
    assert (below_fs.kind, below_fs.tool) == ("other", "fs/delete")
    assert (other.kind, other.tool, other.title) == ("other", "mcp/message", "tools/call m")


def test_the_members_of_a_batch() -> None:
    """`audit` lists an action for each file request in a JSON-RPC batch."""
    conversation = Talk()
    paths = [f"{CWD}/{name}" for name in "ab"]
    conversation.to_client(
        [request(n, "fs/read_text_file", sessionId="s", path=p) for n, p in enumerate(paths)]
    )
    conversation.to_agent([result(1, content=""), result(0, content="")])
    assert actions(conversation) == [
        ("read", "done", "client", ["a"]),
        ("read", "done", "client", ["b"]),
    ]


@pytest.mark.parametrize(
    "member", [None, 7, "x", [], {}, [[[]]], {"path": 7}, [{"path": ["x"]}, None, "y"]]
)
def test_members_of_any_type(member: Any) -> None:
    """`audit` raises no error if JSON members of messages have unexpected types."""
    conversation = Talk()
    names = (
        "title", "kind", "status", "content", "locations", "rawInput", "rawOutput", "output",
        "input", "location", "_meta",
    )  # fmt: skip
    conversation.call("c", **dict.fromkeys(names, member))
    conversation.call("d", content=[dict.fromkeys(("type", "path", "changes", "content"), member)])
    conversation.call(
        "e", rawInput=dict.fromkeys(("command", "args", "path", "url", "changes"), member)
    )
    for params in ({"toolCall": member, "options": member}, {"subject": member, "title": member}):
        conversation.asks("session/request_permission", {"outcome": member}, **params)
    conversation.asks("fs/read_text_file", {"content": member}, path=member)
    conversation.asks(
        "terminal/create", {"terminalId": member}, command=member, args=member, cwd=member
    )
    conversation.asks("terminal/output", {"exitStatus": member}, terminalId=member)
    conversation.client_asks("session/new", {"sessionId": "t"}, cwd=member, mcpServers=member)
    assert conversation.audit().actions


def test_sessions_have_directories_and_servers() -> None:
    """`audit` lists the directories and MCP servers of a session, without the servers' secrets."""
    conversation = Talk(
        additionalDirectories=["/srv/lib"],
        mcpServers=[
            {"name": "files", "command": "/bin/mcp", "args": ["--x y"], "env": [{"name": "TOKEN"}]},
            {"type": "http", "name": "web", "url": "https://me:pw@mcp.example/a?key=1",
             "headers": [{"name": "Authorization", "value": "Bearer x"}]},
        ],
    )  # fmt: skip
    conversation.asks("fs/read_text_file", {"content": ""}, path="/srv/lib/x")
    audited = conversation.audit()
    (session,) = audited.sessions
    assert (session.id, session.cwd, session.directories) == ("s", CWD, ["/srv/lib"])
    assert [
        (mcp_server.name, mcp_server.type, mcp_server.command, mcp_server.url)
        for mcp_server in session.mcp_servers
    ] == [
        ("files", "stdio", "/bin/mcp '--x y'", None),
        ("web", "http", None, "https://mcp.example/a?…"),
    ]
    assert audited.actions[0].paths[0].place == "inside"
    assert audited.agent_command == ["agent", "--acp"]


def test_a_read_and_a_write_that_name_one_call() -> None:
    """If a read and a write belong to one tool call, `audit` lists both as actions."""
    conversation = Talk("draft-1.0")
    conversation.call("c", tool="edit")
    conversation.asks("fs/read_text_file", {"content": ""}, path=A, toolCallId="c")
    conversation.asks("fs/write_text_file", {}, path=f"{CWD}/b", toolCallId="c")
    assert actions(conversation) == [
        ("read", "done", "client", ["a.py"]),
        ("write", "done", "client", ["b"]),
    ]


def test_an_open_call_whose_id_is_used_again() -> None:
    """If a later turn reuses the id of an open tool call, `audit` lists both calls."""
    conversation = Talk()
    conversation.call("c", **shell("rm x"))
    conversation.prompt()
    conversation.call("c", **shell("ls"))
    assert [action.command for action in conversation.audit().actions] == ["rm x", "ls"]


def test_directories_are_those_of_the_time() -> None:
    """`audit` judges an action by the directory that its session had when the action happened."""
    conversation = Talk()
    conversation.call("c", **shell("cat /proj/app/x"))
    conversation.to_agent(request(9, "session/load", sessionId="s", cwd="/", mcpServers=[]))
    conversation.to_client(error(9, -1, "no"))
    conversation.asks("fs/write_text_file", {}, path="/etc/x", content="")
    conversation.client_asks("session/load", {}, sessionId="s", cwd="/new", mcpServers=[])
    run, write = conversation.audit().actions
    assert run.mentions == []
    assert write.paths[0].place == "outside"


def test_a_session_that_was_not_loaded_is_not_listed() -> None:
    """`audit` does not list a session that could not be loaded."""
    conversation = Talk()
    conversation.to_agent(request(9, "session/load", sessionId="x", cwd="/", mcpServers=[]))
    conversation.to_client(error(9, -1, "no"))
    assert [opened.id for opened in conversation.audit().sessions] == ["s"]


def test_sessions_have_directories_and_terminals_of_their_own() -> None:
    """If two sessions have a terminal `t`, `audit` keeps their exit codes and directories apart."""
    conversation = Talk()
    conversation.client_asks("session/new", {"sessionId": "s2"}, cwd="/two")
    conversation.prompt("s2")
    conversation.asks("terminal/create", {"terminalId": "t"}, command="one", cwd=CWD)
    conversation.asks(
        "terminal/create", {"terminalId": "t"}, command="two", cwd=CWD, sessionId="s2"
    )
    conversation.asks("terminal/wait_for_exit", {"exitCode": 3}, terminalId="t")
    first, two = conversation.audit().actions
    assert (first.exit_code, two.exit_code) == (3, None)
    assert first.directory is not None
    assert two.directory is not None
    assert (first.directory.place, two.directory.place) == ("inside", "outside")


def test_words_of_a_command_count_from_its_directory() -> None:
    """`audit` resolves a command's paths from its directory, but calls them unknown after `cd`."""
    conversation = Talk()
    conversation.call(
        "c", kind="execute", rawInput={"command": "cat ../x ../../y", "cwd": f"{CWD}/sub"}
    )
    conversation.call("d", **shell("cd sub && cat ../x"))
    first, second = conversation.audit().actions
    assert [(path.shown, path.place) for path in first.mentions] == [("/proj/y", "outside")]
    assert [(path.shown, path.place) for path in second.mentions] == [("../x", "unknown")]


def test_options_with_one_id() -> None:
    """If two permission options share the chosen id, `audit` calls the decision ambiguous."""
    conversation = Talk()
    options = [{"optionId": "1", "kind": "allow_once"}, {"optionId": "1", "kind": "reject_once"}]
    conversation.permission("1", {"toolCallId": "c", **edit(A)}, options=options)
    assert conversation.action().permissions[0].decision == "ambiguous"
