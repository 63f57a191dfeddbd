"""Tool calls, permission requests and requests to the client become actions, in every dialect."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.audit_conversation import ALLOW, ALWAYS, CWD, OPTIONS, REJECT, Talk, edit, shell
from tests.support.log_writer import error, request, result

A = f"{CWD}/a.py"
Found = tuple[str, str, str, list[str]]


def found(talk: Talk) -> list[Found]:
    """Returns the kind, the status, the source and the paths of each action."""
    return [
        (a.kind, a.status, a.source, [path.shown for path in a.paths]) for a in talk.audit().actions
    ]


def test_a_file_that_the_client_reads() -> None:
    """It needs no tool call, and the client's answer shows that it was done."""
    talk = Talk()
    talk.asks("fs/read_text_file", {"content": "x"}, path=A)
    action = talk.action()
    assert (action.kind, action.status, action.source) == ("read", "done", "client")
    assert (action.seq, action.turn, action.session) == (6, 1, "s")
    assert action.at == "2025-01-01T00:00:06.000+00:00"
    assert [(one.seq, one.answer_seq, one.outcome) for one in action.requests] == [(6, 7, "result")]
    assert action.permissions == []


def test_what_the_client_refused_and_what_it_left_open() -> None:
    """An error means failed, with its reason; without an answer the request is unanswered."""
    talk = Talk()
    talk.asks_in_vain("fs/write_text_file", path=A, content="")
    talk.asks("fs/write_text_file", None, path=A, content="")
    failed, opened = talk.audit().actions
    assert (failed.status, failed.requests[0].error) == ("failed", "-32603 no disk")
    assert opened.status == "unanswered"


def test_a_tool_call_and_its_write_are_one_action() -> None:
    """The request comes while the only open call with that path has permission."""
    talk = Talk()
    talk.call("c", **edit(A))
    talk.permission(ALLOW, {"toolCallId": "c"})
    talk.asks("fs/write_text_file", {}, path=f"{CWD}/./src/../a.py", content="x")
    talk.ends("c")
    action = talk.action()
    assert (action.seq, action.call_seq, action.seqs) == (6, 11, [6, 7, 8, 9, 10, 11])
    assert (action.source, action.status, action.call_status) == ("client", "done", "completed")
    (permission,) = action.permissions
    assert (permission.seq, permission.answer_seq, permission.decision) == (7, 8, "granted")
    assert (permission.option, permission.name) == ("allow_once", "Allow")
    assert permission.waited_ns == 10**9


def test_a_read_within_an_edit_is_an_action_of_its_own() -> None:
    """It is a read without permission, and it names the call that it belongs to."""
    talk = Talk()
    talk.call("c", **edit(A))
    talk.asks("fs/read_text_file", {"content": "x"}, path=A)
    assert found(talk) == [
        ("write", "unknown", "claimed", ["a.py"]),
        ("read", "done", "client", ["a.py"]),
    ]
    assert talk.audit().actions[1].tool_call == "c"


def test_two_calls_with_one_path_are_not_told_apart() -> None:
    """All three are kept, and each side names the other one."""
    talk = Talk()
    talk.call("c", **edit(A))
    talk.call("d", **edit(A))
    talk.asks("fs/write_text_file", {}, path=A, content="x")
    first, second, written = talk.audit().actions
    assert first.perhaps_same_as == second.perhaps_same_as == [3]
    assert written.perhaps_same_as == [1, 2]


def test_a_call_that_is_over_is_not_that_of_a_later_request() -> None:
    """Gemini reports a read and then reads again through its client."""
    talk = Talk()
    talk.call("c", kind="read", locations=[{"path": A}], status="completed")
    talk.asks("fs/read_text_file", {"content": "x"}, path=A)
    claimed, done = talk.audit().actions
    assert (claimed.source, done.source) == ("claimed", "client")
    assert claimed.perhaps_same_as == [2]


@pytest.mark.parametrize("announced_first", [True, False])
def test_a_terminal_belongs_to_the_call_that_shows_it(announced_first: bool) -> None:
    """The call may be announced before or after the terminal is created."""
    talk = Talk()
    if announced_first:
        talk.call("c", **shell("make all"))
    talk.asks("terminal/create", {"terminalId": "t"}, command="make", args=["a b"], cwd="/tmp")
    shown = {"content": [{"type": "terminal", "terminalId": "t"}]}
    if announced_first:
        talk.ends("c", "in_progress", **shown)
    else:
        talk.call("c", **shell("make all"), **shown)
    talk.asks("terminal/wait_for_exit", {"exitCode": 2}, terminalId="t")
    talk.ends("c", "failed")
    action = talk.action()
    assert (action.seq, action.kind, action.status, action.source) == (6, "run", "done", "client")
    assert (action.command, action.exit_code, action.terminal) == ("make 'a b'", 2, "t")
    assert action.directory is not None
    assert (action.directory.shown, action.directory.place) == ("/tmp", "outside")


def test_a_terminal_whose_end_is_not_recorded_was_started() -> None:
    """A signal is an end, and so is an exit status in the output."""
    for answer, status in (
        ({}, "started"),
        ({"exitStatus": {"signal": "SIGKILL"}}, "done"),
        ({"exitStatus": {"exitCode": 0}}, "done"),
    ):
        talk = Talk()
        talk.asks("terminal/create", {"terminalId": "t"}, command="make")
        talk.asks("terminal/output", {"output": "", **answer}, terminalId="t")
        assert talk.action().status == status


def test_a_call_that_is_only_asked_for() -> None:
    """Gemini announces a call by its permission request; a refused one has no update at all."""
    for chosen, decision, status in (
        (REJECT, "denied", "refused"),
        (None, "cancelled", "cancelled"),
        (ALLOW, "granted", "unknown"),
    ):
        talk = Talk()
        where = f"[current working directory {CWD}/../other]"
        content = [{"type": "content", "content": {"type": "text", "text": where}}]
        call = {"toolCallId": "c", "status": "pending", "title": "ls", "kind": "execute"}
        talk.permission(chosen, {**call, "content": content})
        action = talk.action()
        assert action.permissions[0].decision == decision
        assert (action.kind, action.status, action.title) == ("run", status, "ls")
        assert action.directory is not None
        assert (action.directory.shown, action.directory.place) == ("/proj/other", "outside")


def test_what_an_agent_does_itself_is_claimed() -> None:
    """Codex, vibe and others change files and run commands without their client."""
    talk = Talk()
    arguments = {"command": ["/bin/bash", "-lc", "it's"], "cwd": f"{CWD}/sub"}
    talk.call("c", kind="execute", title="it's", rawInput=arguments)
    talk.ends("c", rawOutput={"exit_code": 0})
    talk.call("d", kind="edit", content=[{"type": "diff", "path": A, "oldText": None}])
    talk.ends("d")
    talk.call("e", kind="fetch", title="Fetch", rawInput={"url": "https://example.com/x"})
    talk.call("f", kind="move", rawInput={"source": "a.py", "destination": "../b.py"})
    talk.call("g", kind="delete", rawInput={"path": "/etc/hosts"})
    run, write, fetch, move, delete = talk.audit().actions
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
    """A call with a diff is a write, and one with a terminal is a command."""
    talk = Talk()
    talk.call("c", kind="read", content=[{"type": "diff", "path": A, "oldText": ""}])
    talk.call("d", kind="think", content=[{"type": "terminal", "terminalId": "t"}])
    assert [action.kind for action in talk.audit().actions] == ["write", "run"]


def test_an_earlier_lasting_answer_may_cover_a_later_action() -> None:
    """An answer about the same kind of action is named, but may not cover this one."""
    talk = Talk()
    talk.permission(ALWAYS, {"toolCallId": "c", **shell("npm test")})
    talk.prompt()
    talk.call("d", **shell("rm -r x"))
    talk.call("e", **edit(A))
    _, run, write = talk.audit().actions
    (earlier,) = run.perhaps_allowed_by
    assert (earlier.answer_seq, earlier.name, earlier.title) == (7, "Always allow", "npm test")
    assert write.perhaps_allowed_by == []


def test_the_mode_of_the_session_is_kept() -> None:
    """The mode may explain why permission was not asked."""
    talk = Talk()
    talk.client_asks("session/set_mode", {}, sessionId="s", modeId="yolo")
    talk.update("current_mode_update", currentModeId="yolo")
    talk.call("c", **edit(A))
    assert talk.action().mode == "yolo"


def test_history_is_no_action() -> None:
    """What ``session/load`` streams before its answer was done in an earlier recording."""
    talk = Talk()
    talk.to_client(result(3, stopReason="end_turn"))
    talk.to_agent(request(9, "session/load", sessionId="s", cwd="/new", mcpServers=[]))
    talk.call("c", **edit(A))
    talk.to_client(result(9))
    assert talk.audit().actions == []
    talk.call("d", **edit("/new/b.py"))
    assert found(talk) == [("write", "unknown", "claimed", ["b.py"])]


def test_a_call_id_that_is_used_again_in_another_turn() -> None:
    """Some agents count from one in every turn."""
    talk = Talk()
    talk.call("c", **edit(A))
    talk.ends("c")
    talk.prompt()
    talk.call("c", **shell("ls"))
    talk.ends("c")
    talk.prompt()
    talk.permission(ALLOW, {"toolCallId": "c", "kind": "delete"})
    assert [action.kind for action in talk.audit().actions] == ["write", "run", "delete"]


@pytest.mark.parametrize("dialect", ["v1", "v2"])
def test_a_call_id_that_is_used_again_in_a_turn(dialect: str) -> None:
    """A write whose id is used again for a read is listed as what changed, with its permission."""
    talk = Talk(dialect)
    talk.call("c", **edit(A))
    talk.permission(ALLOW, {"toolCallId": "c"})
    talk.ends("c")
    talk.call("c", kind="read", title="Read b.py", locations=[{"path": f"{CWD}/b.py"}])
    talk.ends("c", "failed")
    first, second = talk.audit().actions
    assert (first.kind, first.call_status, len(first.permissions)) == ("write", "completed", 1)
    assert (second.kind, second.call_status, second.permissions) == ("read", "failed", [])


def test_a_call_id_that_is_used_again_in_a_turn_of_the_draft() -> None:
    """The tool of each call stays its own."""
    talk = Talk("draft-1.0")
    for tool in ("fs/write_text_file", "fs/read_text_file"):
        talk.call("c", tool=tool)
        talk.ends("c")
    assert [action.tool for action in talk.audit().actions] == [
        "fs/write_text_file", "fs/read_text_file",
    ]  # fmt: skip


def test_a_call_id_that_is_used_again_in_a_permission_request() -> None:
    """The call that is announced next is the one that permission was asked for."""
    talk = Talk()
    talk.call("c", **shell("ls"))
    talk.ends("c")
    talk.permission(ALLOW, {"toolCallId": "c", **edit(A)})
    talk.call("c", **edit(A))
    talk.ends("c")
    assert [(a.kind, len(a.permissions), a.status) for a in talk.audit().actions] == [
        ("run", 0, "done"), ("write", 1, "done"),
    ]  # fmt: skip


def test_v2_tells_of_terminals_of_the_agent() -> None:
    """The agent does everything itself; a diff says what it does with each file."""
    talk = Talk("v2")
    talk.pause_ms = 1  # updates that are streamed, and yet each is read
    subject = {"type": "command", "command": "npm test", "cwd": CWD, "toolCallId": "c"}
    talk.asks(
        "session/request_permission", {"outcome": {"outcome": "selected", "optionId": "1"}},
        title="Run the tests?", subject=subject, options=OPTIONS,
    )  # fmt: skip
    talk.update("agent_message_chunk", content={"type": "text", "text": "x"})
    talk.update("terminal_update", terminalId="t", command="npm test", cwd=CWD)
    talk.call("c", kind="execute", content=[{"type": "terminal", "terminalId": "t"}])
    talk.update("terminal_update", terminalId="t", exitStatus={"exitCode": 1})
    changes = [
        {"operation": "delete", "path": f"{CWD}/c.py"},
        {"operation": "move", "oldPath": A, "path": "/e.py"},
    ]
    talk.call("d", kind="edit")
    talk.update(
        "tool_call_content_chunk", toolCallId="d", content={"type": "diff", "changes": changes}
    )
    run, write = talk.audit().actions
    assert (run.command, run.exit_code, run.status) == ("npm test", 1, "done")
    assert (run.permissions[0].title, run.permissions[0].decision) == ("Run the tests?", "granted")
    assert run.directory is not None
    assert run.directory.shown == "."
    assert [(path.shown, path.operation, path.place.value) for path in write.paths] == [
        ("c.py", "delete", "inside"), ("a.py", "move", "inside"), ("/e.py", "move", "outside"),
    ]  # fmt: skip


def test_the_draft_names_operations_and_no_session() -> None:
    """The session is found by the path; a tool is the method that it calls."""
    talk = Talk("draft-1.0")
    talk.call("c", tool="fs/write_text_file", input={"path": A}, requiresPermission=True)
    talk.asks(
        "session/request_permission", {"granted": True, "remember": True, "scope": "session"},
        sessionId="s", operation="file_write", resource=A, reason="fix it", toolCallId="c",
    )  # fmt: skip
    talk.asks("fs/write_text_file", {"bytesWritten": 1, "created": False}, path=A, content="")
    talk.ends("c", output={"type": "diff", "path": A})
    action = talk.action()
    assert (action.kind, action.status, action.source) == ("write", "done", "client")
    (permission,) = action.permissions
    assert (permission.option, permission.lasting) == ("session", True)


def test_the_draft_may_ask_without_a_tool_call() -> None:
    """Without a tool call, the operation and resource of a permission show its request."""
    talk = Talk("draft-1.0")
    for operation, resource in (("terminal_execute", "npm test"), ("file_delete", A)):
        talk.asks(
            "session/request_permission", {"granted": operation != "file_delete"},
            sessionId="s", operation=operation, resource=resource,
        )  # fmt: skip
    talk.asks("terminal/create", {"terminalId": "t"}, command="npm", args=["test"], cwd=CWD)
    run, delete = talk.audit().actions
    assert (run.source, run.status, run.permissions[0].decision) == ("client", "started", "granted")
    assert (delete.kind, delete.status, delete.source) == ("delete", "refused", "claimed")


def test_requests_of_unknown_methods() -> None:
    """Requests of unknown methods are of an unknown kind, even those below ``fs/``."""
    talk = Talk()
    talk.asks("fs/delete", {}, path=A)
    talk.asks("mcp/message", {}, connectionId="m", method="tools/call")
    talk.asks("elicitation/create", {"action": "accept"}, message="Name?")
    below_fs, other = talk.audit().actions
    assert (below_fs.kind, below_fs.tool) == ("other", "fs/delete")
    assert (other.kind, other.tool, other.title) == ("other", "mcp/message", "tools/call m")


def test_the_members_of_a_batch() -> None:
    """Each message of a batch is read like a single message."""
    talk = Talk()
    paths = [f"{CWD}/{name}" for name in "ab"]
    talk.to_client(
        [request(n, "fs/read_text_file", sessionId="s", path=p) for n, p in enumerate(paths)]
    )
    talk.to_agent([result(1, content=""), result(0, content="")])
    assert found(talk) == [("read", "done", "client", ["a"]), ("read", "done", "client", ["b"])]


@pytest.mark.parametrize(
    "member", [None, 7, "x", [], {}, [[[]]], {"path": 7}, [{"path": ["x"]}, None, "y"]]
)
def test_members_of_any_type(member: Any) -> None:
    """Any message can be audited, and nothing is raised."""
    talk = Talk()
    names = (
        "title", "kind", "status", "content", "locations", "rawInput", "rawOutput", "output",
        "input", "location", "_meta",
    )  # fmt: skip
    talk.call("c", **dict.fromkeys(names, member))
    talk.call("d", content=[dict.fromkeys(("type", "path", "changes", "content"), member)])
    talk.call("e", rawInput=dict.fromkeys(("command", "args", "path", "url", "changes"), member))
    for params in ({"toolCall": member, "options": member}, {"subject": member, "title": member}):
        talk.asks("session/request_permission", {"outcome": member}, **params)
    talk.asks("fs/read_text_file", {"content": member}, path=member)
    talk.asks("terminal/create", {"terminalId": member}, command=member, args=member, cwd=member)
    talk.asks("terminal/output", {"exitStatus": member}, terminalId=member)
    talk.client_asks("session/new", {"sessionId": "t"}, cwd=member, mcpServers=member)
    assert talk.audit().actions


def test_sessions_have_directories_and_servers() -> None:
    """Environments, headers, names of users and queries are left out."""
    talk = Talk(
        additionalDirectories=["/srv/lib"],
        mcpServers=[
            {"name": "files", "command": "/bin/mcp", "args": ["--x y"], "env": [{"name": "TOKEN"}]},
            {"type": "http", "name": "web", "url": "https://me:pw@mcp.example/a?key=1",
             "headers": [{"name": "Authorization", "value": "Bearer x"}]},
        ],
    )  # fmt: skip
    talk.asks("fs/read_text_file", {"content": ""}, path="/srv/lib/x")
    audited = talk.audit()
    (session,) = audited.sessions
    assert (session.id, session.cwd, session.directories) == ("s", CWD, ["/srv/lib"])
    assert [(one.name, one.type, one.command, one.url) for one in session.mcp_servers] == [
        ("files", "stdio", "/bin/mcp '--x y'", None),
        ("web", "http", None, "https://mcp.example/a?…"),
    ]
    assert audited.actions[0].paths[0].place == "inside"
    assert audited.agent_command == ["agent", "--acp"]


def test_a_read_and_a_write_that_name_one_call() -> None:
    """If a read and a write name the same tool call, both are listed."""
    talk = Talk("draft-1.0")
    talk.call("c", tool="edit")
    talk.asks("fs/read_text_file", {"content": ""}, path=A, toolCallId="c")
    talk.asks("fs/write_text_file", {}, path=f"{CWD}/b", toolCallId="c")
    assert found(talk) == [("read", "done", "client", ["a.py"]), ("write", "done", "client", ["b"])]


def test_an_open_call_whose_id_is_used_again() -> None:
    """If an open tool call's id is used again, as after a cancelled turn, both are listed."""
    talk = Talk()
    talk.call("c", **shell("rm x"))
    talk.prompt()
    talk.call("c", **shell("ls"))
    assert [action.command for action in talk.audit().actions] == ["rm x", "ls"]


def test_directories_are_those_of_the_time() -> None:
    """A later ``session/load`` moves no earlier command outside, and a failed one moves nothing."""
    talk = Talk()
    talk.call("c", **shell("cat /proj/app/x"))
    talk.to_agent(request(9, "session/load", sessionId="s", cwd="/", mcpServers=[]))
    talk.to_client(error(9, -1, "no"))
    talk.asks("fs/write_text_file", {}, path="/etc/x", content="")
    talk.client_asks("session/load", {}, sessionId="s", cwd="/new", mcpServers=[])
    run, write = talk.audit().actions
    assert run.mentions == []
    assert write.paths[0].place == "outside"


def test_a_session_that_was_not_loaded_is_not_listed() -> None:
    """A session that could not be loaded is not listed."""
    talk = Talk()
    talk.to_agent(request(9, "session/load", sessionId="x", cwd="/", mcpServers=[]))
    talk.to_client(error(9, -1, "no"))
    assert [one.id for one in talk.audit().sessions] == ["s"]


def test_sessions_have_directories_and_terminals_of_their_own() -> None:
    """The same relative path or terminal id means something else in each session."""
    talk = Talk()
    talk.client_asks("session/new", {"sessionId": "s2"}, cwd="/two")
    talk.prompt("s2")
    talk.asks("terminal/create", {"terminalId": "t"}, command="one", cwd=CWD)
    talk.asks("terminal/create", {"terminalId": "t"}, command="two", cwd=CWD, sessionId="s2")
    talk.asks("terminal/wait_for_exit", {"exitCode": 3}, terminalId="t")
    one, two = talk.audit().actions
    assert (one.exit_code, two.exit_code) == (3, None)
    assert one.directory is not None
    assert two.directory is not None
    assert (one.directory.place, two.directory.place) == ("inside", "outside")


def test_words_of_a_command_count_from_its_directory() -> None:
    """If a command changes its directory, its relative paths have an unknown place."""
    talk = Talk()
    talk.call("c", kind="execute", rawInput={"command": "cat ../x ../../y", "cwd": f"{CWD}/sub"})
    talk.call("d", **shell("cd sub && cat ../x"))
    first, second = talk.audit().actions
    assert [(path.shown, path.place) for path in first.mentions] == [("/proj/y", "outside")]
    assert [(path.shown, path.place) for path in second.mentions] == [("../x", "unknown")]


def test_options_with_one_id() -> None:
    """The answer has only the option's id, so the chosen option is not known."""
    talk = Talk()
    options = [{"optionId": "1", "kind": "allow_once"}, {"optionId": "1", "kind": "reject_once"}]
    talk.permission("1", {"toolCallId": "c", **edit(A)}, options=options)
    assert talk.action().permissions[0].decision == "ambiguous"
