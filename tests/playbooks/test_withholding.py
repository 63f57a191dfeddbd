"""A replay withholds requests that could harm the client's machine."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.support.playbook import Live, Record

V1 = '{"protocolVersion": 1}', '{"protocolVersion": 1, "agentCapabilities": {}}'
V2 = '{"protocolVersion": 2}', '{"protocolVersion": 2}'
DRAFT = '{"protocolVersion": 1, "capabilities": {}}', '{"protocolVersion": 1, "capabilities": {}}'


def asked(
    record: Record,
    recorded: str,
    dialect: tuple[str, str] = V1,
    **options: Any,
) -> Live:
    """Returns a replay just before its prompt, with ``/live`` in place of the recorded ``/p``."""
    new = "workingDirectory" if dialect is DRAFT else "cwd"
    live = record(f"""
        1 -> #0 initialize {dialect[0]}
        2 <- #0 result {dialect[1]}
        3 -> #1 session/new {{"{new}": "/p"}}
        4 <- #1 result {{"sessionId": "s"}}
        5 -> #2 session/prompt {{"sessionId": "s"}}
        {recorded}
        <- #2 result {{"stopReason": "end_turn"}}
    """).replay(**options)
    live.send(1, f'#1 session/new {{"{new}": "/live"}}')
    return live


def answered(method: str, params: dict[str, Any] | None = None, result: str = "{}") -> str:
    """Returns a request of the agent and its recorded answer as lines of a transcript."""
    value = json.dumps({"sessionId": "s", **(params or {})})
    return f"<- #7 {method} {value}\n-> #7 result {result}"


HARMLESS: dict[str, dict[str, Any]] = {
    "fs/read_text_file": {"path": "/etc/passwd"},
    "session/request_permission": {"operation": "file_read", "resource": "all"},
}
ACTIVE: dict[str, dict[str, Any]] = {
    "fs/write_text_file": {"path": "/p/a", "content": "x"},
    "fs/write_binary_file": {"path": "/p/a"},
    "fs/create_directory": {"path": "/p/a"},
    "fs/read_binary_file": {"path": "/p/a"},
    "fs/anything": {"path": "/p/a"},
    "terminal/create": {"command": "ls"},
    "terminal/output": {"terminalId": "t"},
    "terminal/wait_for_exit": {"terminalId": "t"},
    "terminal/kill": {"terminalId": "t"},
    "terminal/release": {"terminalId": "t"},
    "terminal/anything": {},
    "mcp/connect": {"serverId": "x"},
    "mcp/message": {"connectionId": "x"},
    "mcp/disconnect": {"connectionId": "x"},
    "_mcp/request": {"serverName": "x"},
    "_ext/run": {"command": "rm -rf /"},
    "_proxy/successor": {"method": "session/prompt"},
    "session/update": {"update": {}},
    "session/anything": {},
    "anything": {},
}


@pytest.mark.parametrize("dialect", [V1, V2, DRAFT], ids=["v1", "v2", "draft"])
@pytest.mark.parametrize("method", ACTIVE)
def test_an_inert_agent_sends_no_acting_request(
    record: Record, method: str, dialect: tuple[str, str]
) -> None:
    """`replay --inert` sends no request that would change something."""
    live = asked(record, answered(method, ACTIVE[method]), dialect, inert=True)
    assert live.send(5) == ["<- 8"]
    assert live.mismatches == []
    assert len(live.report.withheld) == 1
    member = {"jsonrpc": "2.0", "id": 7, "method": method, "params": ACTIVE[method]}
    other = {"jsonrpc": "2.0", "id": 8, "method": "session/request_permission", "params": {}}
    story = f"<- {json.dumps([member, other])}\n-> #8 result {{}}\n-> #7 result {{}}"
    live = asked(record, story, dialect, inert=True)
    assert live.send(5) == [f"<- {json.dumps([other]).replace(', ', ',').replace(': ', ':')}"] or (
        json.loads(live.sent[-1][0]) == [other]
    )
    assert live.send("#8 result {}") == ["<- 9"]
    assert live.mismatches == []


@pytest.mark.parametrize("method", HARMLESS)
@pytest.mark.parametrize("dialect", [V1, DRAFT], ids=["v1", "draft"])
def test_an_inert_agent_reads_and_asks(
    record: Record, method: str, dialect: tuple[str, str]
) -> None:
    """`replay --inert` still sends requests to read a file or for permission to read."""
    live = asked(record, answered(method, HARMLESS[method]), dialect, inert=True)
    assert live.send(5) == ["<- 6"]
    assert live.send(7) == ["<- 8"]
    assert live.report.withheld == ()


def test_an_inert_agent_sends_no_method_unknown_in_its_dialect(record: Record) -> None:
    """`replay --inert` withholds a request whose method is not in the recording's dialect."""
    live = asked(record, answered("fs/read_text_file", {"path": "/p/a"}), V2, inert=True)
    assert live.send(5) == ["<- 8"]


@pytest.mark.parametrize(("mode", "passes"), [("form", True), (None, True), ("url", False)])
def test_an_inert_agent_sends_forms(record: Record, mode: str | None, *, passes: bool) -> None:
    """`replay --inert` sends a request to fill in a form, but no request to open a web page."""
    params = (
        {"message": "?"} if mode is None else {"message": "?", "mode": mode, "url": "https://x"}
    )
    story = answered("elicitation/create", params, '{"action": "cancel"}')
    live = asked(record, story, inert=True)
    assert live.send(5) == ["<- 6"] if passes else ["<- 8"]


@pytest.mark.parametrize(
    ("line", "passes"),
    [
        ('session/update {"sessionId": "s", "update": {}}', True),
        ('elicitation/complete {"elicitationId": "e"}', True),
        ("| just words", True),
        ("| {not a message}", True),
        ('_ext/run {"command": "rm"}', False),
        ('fs/write_text_file {"path": "/p/a"}', False),
        ('terminal/create {"command": "rm"}', False),
        ('| \\xff{"jsonrpc":"2.0","id":9,"method":"fs/write_text_file"}', False),
        ('| {"method":"terminal/create","method":"session/update"}', False),
        ('| [[{"jsonrpc":"2.0","id":9,"method":"terminal/create"}]]', False),
    ],
)
def test_an_inert_agent_sends_no_other_acting_line(
    record: Record, line: str, *, passes: bool
) -> None:
    """`replay --inert` withholds unknown notifications, and lines that may hide a request."""
    live = asked(record, f"<- {line}", inert=True)
    assert live.send(5) == (["<- 6", "<- 7"] if passes else ["<- 7"])


PUSHED = f"""
    {answered("terminal/create", {"command": "ls"}, '{"terminalId": "t1"}')}
    -> #3 terminal/output {{"terminalId": "t1", "data": "a"}}
    <- #3 result {{"received": true}}
    -> #4 terminal/output {{"terminalId": "t1", "data": "b"}}
    <- #4 result {{"received": true}}
    <- #8 terminal/release {{"terminalId": "t1"}}
    -> #8 result {{"released": true}}
"""


@pytest.mark.parametrize("order", ["session", "recorded"])
def test_output_of_a_withheld_terminal_is_not_awaited(record: Record, order: str) -> None:
    """If a replay withholds `terminal/create`, it does not wait for the terminal's output."""
    live = asked(record, PUSHED, DRAFT, inert=True, order=order)
    assert live.send(5) == ["<- 14"]
    live.leave()
    assert (live.mismatches, live.report.verdict, live.report.unplayed) == ([], "clean", 0)


def test_messages_to_a_withheld_server_are_not_awaited(record: Record) -> None:
    """If a replay withholds an MCP connection, it does not wait for messages to the server."""
    live = asked(
        record,
        f"""
        {answered("mcp/connect", {"serverId": "m"}, '{"connectionId": "c"}')}
        -> #3 mcp/message {{"connectionId": "c", "method": "ping"}}
        <- #3 result {{}}
        <- $/cancel_request {{"requestId": 7}}
        """,
        inert=True,
    )
    assert live.send(5) == ["<- 11"]
    live.leave()
    assert (live.mismatches, live.report.unplayed) == ([], 0)


def test_requests_after_a_withheld_extension_are_optional(record: Record) -> None:
    """If a replay withholds an extension request, the client may omit later extension requests."""
    story = f"""
        {answered("_ext/run", {"job": 1})}
        -> #3 _ext/done {{"sessionId": "s", "job": 1}}
        <- #3 result {{}}
    """
    live = asked(record, story, inert=True)
    assert live.send(5) == []
    assert live.wait("2s") == ["<- 10"]
    live.leave()
    assert live.mismatches == []
    live = asked(record, story, inert=True)
    assert live.send(5, 8) == ["<- 9", "<- 10"]
    assert live.mismatches == []


OUTSIDE: list[tuple[str, dict[str, Any]]] = [
    ("fs/write_text_file", {"path": "/etc/evil"}),
    ("fs/write_text_file", {"path": "/p/../../../../x"}),
    ("fs/write_text_file", {"path": "/p/a/../../live2/x"}),
    ("fs/write_text_file", {"path": "/pp/x"}),
    ("fs/write_text_file", {"path": "/P/x"}),
    ("fs/write_text_file", {"path": "x"}),
    ("fs/write_text_file", {"path": "~/x"}),
    ("fs/write_text_file", {"path": "file:///etc/evil"}),
    ("fs/write_text_file", {"path": "file:///p/%2e%2e/evil"}),
    ("fs/write_text_file", {"path": "file://host/p/x"}),
    ("fs/write_text_file", {"path": "/p/..\\..\\x"}),
    ("fs/write_text_file", {"path": "/p\\x"}),
    ("fs/write_text_file", {"path": "C:\\x"}),
    ("fs/write_text_file", {"path": "/p/x\0"}),
    ("fs/write_text_file", {"path": 7}),
    ("fs/write_text_file", {"path": "/p/a", "Path": "/etc/evil"}),
    ("fs/write_text_file", {}),
    ("fs/write_binary_file", {"path": "/etc/evil"}),
    ("fs/create_directory", {"path": "/etc/evil"}),
    ("fs/delete", {"path": "/etc"}),
    ("fs/rename", {"oldPath": "/p/a", "newPath": "/etc/evil"}),
    ("fs/copy", {"from": "/etc/passwd", "to": "/p/a"}),
    ("fs/anything", {"files": ["/p/a", "/etc/evil"]}),
    ("terminal/create", {"command": "sh", "args": ["-c", "x"], "cwd": "/"}),
    ("terminal/create", {"command": "sh", "cwd": "/p/.."}),
    ("terminal/create", {"command": "sh", "cwd": "."}),
]


@pytest.mark.parametrize("dialect", [V1, DRAFT], ids=["v1", "draft"])
@pytest.mark.parametrize(("method", "params"), OUTSIDE)
def test_requests_outside_the_clients_directories_are_withheld(
    record: Record,
    method: str,
    params: dict[str, Any],
    dialect: tuple[str, str],
) -> None:
    """Without options, a replay withholds requests for files outside the client's directories."""
    live = asked(record, answered(method, params), dialect)
    assert live.send(5) == ["<- 8"]
    assert live.mismatches == []
    report = live.report
    assert report.verdict == "clean"
    assert len(report.withheld) == 1
    assert report.withheld == report.withheld_outside
    live = asked(record, answered(method, params), dialect, allow_outside=True)
    assert len(live.send(5)) == 1
    assert live.report.withheld == ()


INSIDE: list[tuple[str, dict[str, Any]]] = [
    ("fs/write_text_file", {"path": "/p/a"}),
    ("fs/write_text_file", {"path": "/p//a/./b/../c"}),
    ("fs/write_text_file", {"path": "file:///live/a%20b"}),
    ("fs/write_text_file", {"path": "/live/a"}),
    ("fs/create_directory", {"path": "/p"}),
    ("fs/rename", {"oldPath": "/live/a", "newPath": "/live/b"}),
    ("terminal/create", {"command": "sh", "args": ["-c", "rm -rf /"], "cwd": "/p/a"}),
    ("terminal/create", {"command": "sh"}),
    ("terminal/create", {"command": "sh", "cwd": None}),
    ("fs/read_text_file", {"path": "/etc/passwd"}),
    ("_ext/run", {"path": "/etc/passwd"}),
]


@pytest.mark.parametrize(("method", "params"), INSIDE)
def test_requests_inside_the_clients_directories_go_out(
    record: Record, method: str, params: dict[str, Any]
) -> None:
    """A replay sends requests for files in the client's directories, with the live paths."""
    live = asked(record, answered(method, params))
    assert len(live.send(5)) == 1
    assert live.report.withheld == ()
    assert live.sent[-1][0] != "8"


def test_acting_requests_are_withheld_before_a_directory_is_named(record: Record) -> None:
    """Before the client has named a directory, a replay withholds requests that act on files."""
    live = record("""
        1-2 handshake
        3 <- #7 terminal/create {"command": "ls"}
        4 -> #7 result {"terminalId": "t"}
        5 <- #8 terminal/kill {"terminalId": "t"}
        6 -> #8 result {}
    """).replay()
    assert live.send(1) == ["<- 2"]
    live.leave()
    assert live.mismatches == []
    assert len(live.report.withheld) == 2


def test_all_requests_about_a_withheld_terminal_are_withheld(record: Record) -> None:
    """If a replay withholds `terminal/create`, it withholds all requests about the terminal."""
    live = asked(
        record,
        """
        6 <- #7 terminal/create {"sessionId": "s", "command": "sh", "cwd": "/"}
        7 -> #7 result {"terminalId": "t1"}
        8 <- #8 terminal/create {"sessionId": "s", "command": "ls", "cwd": "/live"}
        9 -> #8 result {"terminalId": "t2"}
        10 <- #9 terminal/output {"sessionId": "s", "terminalId": "t1"}
        11 -> #9 result {"output": "", "truncated": false}
        12 <- [{"jsonrpc":"2.0","id":10,"method":"terminal/kill","params":{"terminalId":"t1"}}]
        13 -> [{"jsonrpc":"2.0","id":10,"result":{}}]
        14 <- #11 terminal/kill {"sessionId": "s", "terminalId": "t2"}
        15 -> #11 result {}
        """,
    )
    live.check("""
        -> 5
        <- 8
        -> #8 result {"terminalId": "t1"}
        <- #11 terminal/kill {"sessionId": "s", "terminalId": "t1"}
        -> 15
        <- 16
    """)
    assert live.mismatches == []
    assert len(live.report.withheld) == 3


def test_a_hostile_recording_is_played_without_harm(record: Record) -> None:
    """If a recorded agent ran commands and wrote files, `replay --inert` sends no such request."""
    story = "\n".join(
        line.replace("#7", f"#{number}")
        for number, (method, params) in enumerate([*OUTSIDE, *INSIDE, *ACTIVE.items()], 100)
        for line in answered(method, params).splitlines()
        if method not in HARMLESS
    )
    live = asked(record, story, inert=True)
    assert live.send(5) == [f"<- {len(live.engine.sender.withholding.frames) * 2 + 6}"]
    live.leave()
    assert live.report.verdict == "clean"
    for word in (b"evil", b"terminal", b"write", b"_ext"):
        assert word not in live.bytes


WRITE_OUTSIDE = '"params":{"sessionId":"s","path":"/etc/x","content":"x"}'
TWO_WAYS = [
    '{"jsonrpc":"2.0","id":7,"Method":"fs/write_text_file",%s}',
    '{"jsonrpc":"2.0","id":7,"method":"fs/write_text_file",%s,"n":NaN}',
    '{"jsonrpc":"2.0","id":7,"method":"f\\u0073\\/write_text_file",%s,}',
    '\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"method":"fs/write_text_file",%s}',
    '{"jsonrpc":"2.0","id":7,"method":"fs/write_text_file","method":"session/update",%s}',
    '{"jsonrpc":"2.0","method":"session/update","Method":"fs/write_text_file",%s}',
    '{"jsonrpc":"2.0","method":"session/update","\\u004dethod":"fs/write_text_file",%s}',
    '{"jsonrpc":"2.0","id":7,"result":{},"METHOD":"fs/write_text_file",%s}',
    '{"jsonrpc":"2.0","id":7,"method":"fs/write_text_file","params":{"path":"/live/a"},"Params":{"path":"/etc/x"}}',
]


@pytest.mark.parametrize("inert", [False, True])
@pytest.mark.parametrize("line", TWO_WAYS)
def test_ambiguous_lines_are_withheld(record: Record, line: str, *, inert: bool) -> None:
    """A replay withholds an ambiguous write request, such as with `Method` or with two methods."""
    came = line.replace("%s", WRITE_OUTSIDE).encode("unicode_escape").decode()
    live = asked(record, f"<- | {came}", inert=inert)
    assert live.send(5) == ["<- 7"]
    assert len(live.report.withheld) == 1
