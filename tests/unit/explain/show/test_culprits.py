"""Each finding of `show` about a conversation names who is to blame, or why nobody is."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.check.judgement import check_whole
from acp_proxy.explain.show.environment import outside_reason
from acp_proxy.explain.show.summary import summarize
from acp_proxy.recording import log_format as capture_log
from acp_proxy.store.reader import RecordingReader
from tests.support.log_writer import (
    MS,
    LogWriter,
    error,
    notification,
    request,
    result,
    text,
    update,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MINUTE = 60_000 * MS
INITIALIZE = request(0, "initialize", protocolVersion=1)
SESSION = (request(1, "session/new", cwd="/srv", mcpServers=[]), result(1, sessionId="s"))
PROMPT = request(2, "session/prompt", sessionId="s", prompt=[text("go")])
PERMISSION = request(
    0, "session/request_permission", sessionId="s", toolCall={"toolCallId": "c"}, options=[]
)


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[LogWriter]:
    """Makes an empty log."""
    with LogWriter(tmp_path / "x.db") as recorder:
        yield recorder


def opened(chat: LogWriter) -> None:
    """Records a handshake and the opening of a session: frames 2 to 5."""
    chat.to_agent(INITIALIZE)
    chat.to_client(result(0, protocolVersion=1, agentCapabilities={}))
    chat.to_agent(SESSION[0])
    chat.to_client(SESSION[1])


def leaves(chat: LogWriter) -> None:
    """Records that the client closes its end, and that the agent exits."""
    chat.event(capture_log.END, capture_log.TO_AGENT, reason="end of file")
    chat.event(capture_log.EXIT, code=0)


def stderr(chat: LogWriter, words: str) -> None:
    """Records that the agent writes a line on stderr."""
    chat.chunk(capture_log.STDERR, f"{words}\n".encode())


def judged(chat: LogWriter) -> list[tuple[str, str, str | None]]:
    """Returns the rule, the severity and the culprit of each finding."""
    chat.close()
    chat.abandon()
    with RecordingReader(chat.path) as reader:
        return [
            (finding.rule, finding.severity.value, finding.by)
            for finding in summarize(reader).findings
        ]


def words(chat: LogWriter) -> str:
    """Returns the text of the first finding."""
    with RecordingReader(chat.path) as reader:
        return summarize(reader).findings[0].text


@pytest.mark.parametrize(
    ("code", "line", "by"),
    [
        (126, "", "environment"),
        (127, "sh: 1: codex-acp: command not found", "environment"),
        (255, "error while loading shared libraries: libssl.so.3", "environment"),
        (1, "Error: Please log in with `agent login` first", "environment"),
        (1, "TypeError: fetch failed ENOTFOUND api.example.com", "environment"),
        (2, "Usage: codex exec [OPTIONS] [PROMPT]", "environment"),
        (1, "Failed to locate the codex-acp-linux-x64 binary", "environment"),
        (1, "ImportError: cannot import name 'run'", "environment"),
        (1, "You must set the GEMINI_API_KEY environment variable", "environment"),
        (1, "Error: No provider configured", "environment"),
        (1, "SyntaxError: Unexpected token 'with'", "environment"),
        (143, "", "environment"),
        (1, "SyntaxError: Unexpected token < in JSON at position 0", "agent"),
        (1, "TypeError: undefined is not a function", "agent"),
        (1, "", "agent"),
    ],
)
def test_an_agent_that_never_spoke_may_not_be_to_blame(
    chat: LogWriter, code: int, line: str, by: str
) -> None:
    """If stderr shows that a launcher failed, `show` does not blame the agent."""
    chat.to_agent(INITIALIZE)
    if line:
        stderr(chat, line)
    chat.event(capture_log.EXIT, code=code)
    assert judged(chat) == [("agent.ended", "error", by)]
    assert line in words(chat)


def test_a_command_that_prints_text_is_no_agent(chat: LogWriter) -> None:
    """If a command prints text but no message, `show` says that the command is not an agent."""
    chat.to_agent(INITIALIZE)
    chat.chunk(capture_log.TO_CLIENT, b"Welcome to the shell\n")
    chat.event(capture_log.EXIT, code=1)
    assert judged(chat) == [("agent.ended", "error", "environment")]
    assert "the command is not an ACP agent" in words(chat)


def test_the_client_is_to_blame_for_its_signal(chat: LogWriter) -> None:
    """If the client ended the agent by a signal, `show` blames the client."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.event(capture_log.EXIT, signal=signal.SIGTERM)
    chat.event(capture_log.SIGNAL, signal=signal.SIGTERM, action="passed on")
    assert judged(chat) == [("agent.ended", "error", "client")]


def test_an_agent_that_is_gone_is_not_waited_for(chat: LogWriter) -> None:
    """If an agent ended with an open request, `show` reports the end, but no missing answer."""
    chat.to_agent(INITIALIZE)
    chat.event(capture_log.EXIT, code=1)
    assert judged(chat) == [("agent.ended", "error", "agent")]
    assert words(chat) == "the agent exited with 1 (#3) before it answered initialize (#2)"


@pytest.mark.parametrize(
    ("meanwhile", "expected"),
    [
        ([], ("wait.unanswered", "error", "agent")),
        (
            [update("s", "tool_call", toolCallId="c", title="make", status="in_progress")],
            ("wait.unanswered", "error", None),
        ),
        ([PERMISSION], ("wait.unanswered", "warning", None)),
    ],
)
def test_a_wait_has_a_culprit_only_where_somebody_had_to_act(
    chat: LogWriter, meanwhile: list[Any], expected: tuple[str, str, str | None]
) -> None:
    """If a tool call runs or a person must answer, `show` blames nobody for an open prompt."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.to_client(*meanwhile)
    chat.t_ns += 2 * MINUTE
    leaves(chat)
    assert judged(chat) == [expected]


def test_an_agent_that_does_nothing_after_an_answer_is_named(chat: LogWriter) -> None:
    """If an agent never starts a permitted tool call, `show` blames the agent."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.to_client(update("s", "tool_call", toolCallId="c", title="make"), PERMISSION)
    chat.to_agent(result(0, outcome={"outcome": "cancelled"}))
    chat.t_ns += 2 * MINUTE
    leaves(chat)
    assert judged(chat) == [("wait.unanswered", "error", "agent")]


def test_nobody_has_read_a_question_when_the_client_leaves_at_once(chat: LogWriter) -> None:
    """If a client leaves right after a permission request came, `show` blames the client."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.to_client(PERMISSION)
    chat.t_ns += 35 * MS
    leaves(chat)
    assert judged(chat) == [("wait.unanswered", "warning", "client")]


@pytest.mark.parametrize(
    ("minutes", "severity", "by"), [(4, "warning", None), (20, "error", "agent")]
)
def test_an_agent_does_not_wait_for_a_login_for_ever(
    chat: LogWriter, minutes: int, severity: str, by: str | None
) -> None:
    """If an agent waits a quarter of an hour for a login, `show` blames the agent."""
    chat.to_agent(INITIALIZE)
    chat.to_client(result(0, protocolVersion=1, authMethods=[{"id": "m", "name": "M"}]))
    chat.to_agent(request(1, "authenticate", methodId="m"))
    chat.t_ns += minutes * MINUTE
    leaves(chat)
    assert judged(chat) == [("wait.unanswered", severity, by)]


def test_a_client_that_cancels_has_to_answer(chat: LogWriter) -> None:
    """If a client cancels a turn and leaves a permission request open, `show` blames the client."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.to_client(PERMISSION)
    chat.to_agent(notification("session/cancel", sessionId="s"))
    leaves(chat)
    assert judged(chat) == [("wait.unanswered", "error", "client")]


def test_stderr_may_say_why_no_answer_came(chat: LogWriter) -> None:
    """If an answer is missing and stderr mentions the network, `show` quotes stderr."""
    opened(chat)
    chat.to_agent(PROMPT)
    stderr(chat, "retrying: connect ECONNREFUSED 10.0.0.1:443")
    chat.t_ns += MINUTE
    leaves(chat)
    assert judged(chat) == [("wait.unanswered", "error", "environment")]
    assert words(chat).endswith('connect ECONNREFUSED 10.0.0.1:443"')


def test_the_launcher_is_to_blame_before_the_first_message(tmp_path: Path) -> None:
    """If npx needs minutes to start an agent, `show` blames the launcher."""
    chat = LogWriter(tmp_path / "x.db", arg=["npx", "-y", "some-acp"])
    chat.to_agent(INITIALIZE)
    chat.t_ns += 16 * MINUTE
    chat.to_client(result(0, protocolVersion=1, agentCapabilities={}))
    leaves(chat)
    assert judged(chat) == [("agent.slow-start", "warning", "environment")]
    assert words(chat) == "npx took 16 min 0 s before the agent's first message (#3)"


@pytest.mark.parametrize(
    ("frames", "expected"),
    [(2, "warning"), (4, "info")],
)
def test_a_client_that_stops_talking_is_named(chat: LogWriter, frames: int, expected: str) -> None:
    """If a client is silent after `initialize`, `show` prints a warning that blames the client."""
    chat.to_agent(INITIALIZE)
    chat.to_client(result(0, protocolVersion=1, agentCapabilities={}))
    if frames == 4:
        chat.to_agent(SESSION[0])
        chat.to_client(SESSION[1])
    chat.t_ns += 3 * MINUTE
    leaves(chat)
    assert judged(chat) == [("wait.client-silent", expected, "client")]


def test_a_client_that_refuses_a_question_is_named(chat: LogWriter) -> None:
    """If a client answers a valid permission request with an error, `show` blames the client."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.to_client({**PERMISSION, "params": {**PERMISSION["params"], "options": [
        {"optionId": "y", "name": "Yes", "kind": "allow_once"}]}})  # fmt: skip
    chat.to_agent(error(0, -32602, "Invalid params"))
    chat.to_client(result(2, stopReason="end_turn"))
    leaves(chat)
    assert judged(chat) == [("answer.error", "error", "client")]


def test_the_reason_at_the_end_of_an_error_is_kept(chat: LogWriter) -> None:
    """`show` cuts a long error message in the middle, and so keeps its beginning and end."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.to_client(error(2, -32603, f"{'x' * 400} Please sign in again."))
    leaves(chat)
    assert judged(chat) == [("answer.error", "error", "environment")]
    assert "Please sign in again." in words(chat)


def test_a_call_that_hangs_until_it_is_cancelled_is_named(chat: LogWriter) -> None:
    """If a tool call hangs until a cancel, `show` prints a warning with the last line of stderr."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.to_client(update("s", "tool_call", toolCallId="c", title="make", status="in_progress"))
    stderr(chat, "waiting for lock")
    chat.t_ns += 5 * MINUTE
    chat.to_agent(notification("session/cancel", sessionId="s"))
    chat.to_client(result(2, stopReason="cancelled"))
    leaves(chat)
    assert judged(chat) == [("wait.call-hung", "warning", None)]
    assert words(chat).endswith('stderr says "waiting for lock"')


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (1, ("wait.unanswered", "info", None)),
        (20, ("wait.unanswered", "error", "agent")),
    ],
)
def test_an_agent_has_to_heed_a_cancel_whatever_runs(
    chat: LogWriter, seconds: int, expected: tuple[str, str, str | None]
) -> None:
    """If an agent had time to obey a cancel but ignored it, `show` blames the agent."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.to_client(update("s", "tool_call", toolCallId="c", title="make", status="in_progress"))
    for _ in range(2):
        chat.to_agent(notification("session/cancel", sessionId="s"))
    chat.t_ns += seconds * 1_000 * MS
    leaves(chat)
    assert judged(chat) == [expected]
    assert words(chat).endswith("the agent ignored 2 cancels (#8, #9)") is (seconds == 20)


def test_an_agent_that_ignored_a_cancel_was_killed_for_it(chat: LogWriter) -> None:
    """If an agent ignored a cancel and was killed, `show` blames the agent."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.t_ns += 3 * MINUTE
    chat.to_agent(notification("session/cancel", sessionId="s"))
    chat.t_ns += MINUTE
    chat.event(capture_log.EXIT, signal=signal.SIGKILL, name="SIGKILL")
    assert judged(chat) == [("agent.ended", "error", "agent"), ("wait.silence", "info", "agent")]
    assert words(chat).endswith(", after it had ignored 1 cancel (#7)")


@pytest.mark.parametrize(
    ("seconds", "asked", "expected"),
    [
        (20, False, []),
        (40, False, [("wait.cancel-ignored", "warning", "agent")]),
        (40, True, []),
    ],
)
def test_a_turn_ends_soon_after_its_cancel(
    chat: LogWriter, seconds: int, asked: bool, expected: list[tuple[str, str, str | None]]
) -> None:
    """If a turn ends more than half a minute after its cancel, `show` prints a warning."""
    opened(chat)
    chat.to_agent(PROMPT)
    if asked:
        chat.to_client(PERMISSION)
    chat.to_agent(notification("session/cancel", sessionId="s"))
    chat.t_ns += seconds * 1_000 * MS
    if asked:
        chat.to_agent(result(0, outcome={"outcome": "cancelled"}))
    chat.to_client(result(2, stopReason="cancelled"))
    leaves(chat)
    assert [finding for finding in judged(chat) if finding[2] == "agent"] == expected


@pytest.mark.parametrize(
    ("meanwhile", "is_cancelled", "expected"),
    [
        ([], False, [("wait.silence", "info", "agent"), ("answer.empty-turn", "info", "agent")]),
        ([], True, [("wait.silence", "warning", "agent")]),
        ([PERMISSION], True, []),
    ],
)
def test_minutes_of_silence_that_a_cancel_ended_are_the_agents(
    chat: LogWriter,
    meanwhile: list[Any],
    is_cancelled: bool,
    expected: list[tuple[str, str, str | None]],
) -> None:
    """If an agent was silent for minutes before a cancel, `show` blames the agent."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.to_client(*meanwhile)
    chat.t_ns += 3 * MINUTE
    if is_cancelled:
        chat.to_agent(notification("session/cancel", sessionId="s"))
    if meanwhile:
        chat.to_agent(result(0, outcome={"outcome": "cancelled"}))
    chat.to_client(result(2, stopReason="cancelled" if is_cancelled else "end_turn"))
    leaves(chat)
    assert judged(chat) == expected


@pytest.mark.parametrize(("seconds", "expected"), [(0, ("info", None)), (10, ("error", "client"))])
def test_a_released_terminal_is_not_waited_for(
    chat: LogWriter, seconds: int, expected: tuple[str, str | None]
) -> None:
    """If `terminal/release` leaves `terminal/wait_for_exit` open, `show` blames the client."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.to_client(request(0, "terminal/create", sessionId="s", command="make"))
    chat.to_agent(result(0, terminalId="t"))
    chat.to_client(request(1, "terminal/wait_for_exit", sessionId="s", terminalId="t"))
    chat.to_client(request(2, "terminal/release", sessionId="s", terminalId="t"))
    chat.to_agent(result(2))
    chat.to_client(result(2, stopReason="end_turn"))
    chat.t_ns += seconds * 1_000 * MS
    leaves(chat)
    assert ("wait.unanswered", *expected) in judged(chat)


@pytest.mark.parametrize(
    ("size", "later_ms", "expected"),
    [
        (70_000, 20, ("wait.unanswered", "warning", "client")),
        (70_000, 500, ("wait.unanswered", "info", None)),
        (60_000, 20, ("wait.unanswered", "info", None)),
    ],
)
def test_a_client_that_leaves_at_a_long_line_is_named(
    chat: LogWriter, size: int, later_ms: int, expected: tuple[str, str, str | None]
) -> None:
    """If a client leaves after a line of over 64 KiB, `show` blames the client."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.to_client(update("s", "agent_message_chunk", content=text("x" * size)))
    chat.t_ns += later_ms * MS
    leaves(chat)
    assert judged(chat) == [expected]
    assert ("right after a line of 70,1" in words(chat)) is (expected[2] == "client")


@pytest.mark.parametrize(
    ("prompt", "tokens", "line", "expected"),
    [
        ("go", 0, "", [("answer.empty-turn", "warning", "agent")]),
        ("go", None, "Error: the stream ended", [("answer.empty-turn", "warning", "agent")]),
        ("go", None, "took 2 s", []),
        ("go", 12, "Error: no cache", []),
        ("/clear", 0, "", []),
    ],
)
def test_an_empty_turn_that_has_failed_is_named(
    chat: LogWriter,
    prompt: str,
    tokens: int | None,
    line: str,
    expected: list[tuple[str, str, str | None]],
) -> None:
    """If a turn has no text, and 0 tokens or an error on stderr, `show` blames the agent."""
    opened(chat)
    chat.to_agent(request(2, "session/prompt", sessionId="s", prompt=[text(prompt)]))
    if line:
        stderr(chat, line)
    usage = {} if tokens is None else {"usage": {"outputTokens": tokens}}
    chat.to_client(result(2, stopReason="end_turn", **usage))
    stderr(chat, "Error: that came after the turn")
    leaves(chat)
    assert judged(chat) == expected


@pytest.mark.parametrize(
    ("prompt", "after_ms", "meta", "expected"),
    [
        ("go", 900, {}, [("answer.empty-turn", "info", "agent")]),
        ("go", 2, {}, []),
        ("/compact", 900, {}, []),
        ("go", 2, {"x/error": "429 no credits"}, [("answer.empty-turn", "warning", "environment")]),
        ("go", 2, {"x/error": "no such tool"}, [("answer.empty-turn", "warning", "agent")]),
        ("go", 2, {"x/note": "quota exceeded"}, [("answer.empty-turn", "warning", "environment")]),
        ("go", 2, {"x/note": "all is well"}, []),
    ],
)
def test_an_empty_turn_is_told_with_the_error_in_its_metadata(
    chat: LogWriter,
    prompt: str,
    after_ms: int,
    meta: dict[str, str],
    expected: list[tuple[str, str, str | None]],
) -> None:
    """For an empty turn, `show` quotes the error in the turn's `_meta`."""
    opened(chat)
    chat.to_agent(request(2, "session/prompt", sessionId="s", prompt=[text(prompt)]))
    chat.t_ns += after_ms * MS
    chat.to_client(result(2, stopReason="end_turn", _meta=meta))
    leaves(chat)
    assert judged(chat) == expected


def test_the_agents_requests_are_read_once_for_all_empty_turns(chat: LogWriter) -> None:
    """`show` reports slow turns that have neither text nor requests; it reads requests once."""
    opened(chat)
    for turn, asks in enumerate([False, True, False], start=2):
        chat.to_agent(request(turn, "session/prompt", sessionId="s", prompt=[text("go")]))
        if asks:
            chat.to_client(request(7, "fs/read_text_file", sessionId="s", path="/srv/a"))
            chat.to_agent(result(7, content="a"))
        chat.t_ns += 900 * MS
        chat.to_client(result(turn, stopReason="end_turn"))
    leaves(chat)
    chat.close()
    chat.abandon()
    with RecordingReader(chat.path) as reader:
        read: list[str] = []
        reader.connection.set_trace_callback(read.append)
        findings = summarize(reader).findings
    assert [f.seq for f in findings if f.rule == "answer.empty-turn"] == [7, 13]
    assert len([sql for sql in read if "FROM exchanges WHERE direction = 'to-client'" in sql]) == 1


@pytest.mark.parametrize(
    ("message", "severity"), [("it failed", "warning"), ("not supported", "error")]
)
def test_an_internal_error_is_never_routine(chat: LogWriter, message: str, severity: str) -> None:
    """If a client answers an offered method with an internal error, `show` blames the client."""
    chat.to_agent(
        request(0, "initialize", protocolVersion=1,
                clientCapabilities={"fs": {"readTextFile": True}})
    )  # fmt: skip
    chat.to_client(result(0, protocolVersion=1, agentCapabilities={}))
    chat.to_client(request(0, "fs/read_text_file", sessionId="s", path="/srv/a"))
    chat.to_agent(error(0, -32603, message))
    leaves(chat)
    assert ("answer.error", severity, "client") in judged(chat)


@pytest.mark.parametrize(
    ("words", "by"),
    [("Directory does not exist: /p", "client"), ("Internal error: Cannot open /p", "agent")],
)
def test_a_directory_that_is_not_there_is_the_clients(chat: LogWriter, words: str, by: str) -> None:
    """If the directory of a new session does not exist, `show` blames the client."""
    chat.to_agent(INITIALIZE)
    chat.to_client(result(0, protocolVersion=1))
    chat.to_agent(request(1, "session/new", cwd="/p", mcpServers=[]))
    chat.to_client(error(1, -32603, words))
    leaves(chat)
    assert ("answer.error", "error", by) in judged(chat)


def test_a_session_is_lost_whatever_the_error_calls_it(chat: LogWriter) -> None:
    """If the agent says that an open session was not found, `show` blames the agent."""
    opened(chat)
    chat.to_agent(PROMPT)
    failure = {"code": -32002, "message": "Resource not found", "data": {"uri": "s"}}
    chat.to_client({"jsonrpc": "2.0", "id": 2, "error": failure})
    leaves(chat)
    chat.close()
    chat.abandon()
    with RecordingReader(chat.path) as reader:
        assert "session.lost" in {finding.rule for finding in check_whole(reader).findings}


@pytest.mark.parametrize(
    ("method", "line", "by"),
    [
        ("google", "", "agent"),
        ("google", "getaddrinfo ENOTFOUND accounts.example.com", "environment"),
        ("none", "", None),
    ],
)
def test_an_agent_takes_the_login_that_it_offers(
    chat: LogWriter, method: str, line: str, by: str | None
) -> None:
    """If an agent refuses a login that it offers, `show` blames the agent."""
    chat.to_agent(INITIALIZE)
    chat.to_client(result(0, protocolVersion=1, authMethods=[{"id": "google", "name": "Google"}]))
    chat.to_agent(request(1, "authenticate", methodId=method))
    if line:
        stderr(chat, line)
    chat.to_client(error(1, -32602, "Invalid params"))
    leaves(chat)
    assert ("answer.error", "error", by) in judged(chat)


@pytest.mark.parametrize(
    ("data", "by"),
    [
        ({"error": {"type": "overloaded_error"}}, "environment"),
        ({"details": f'{"x" * 400} {{"type":"invalid_request_error"}} {"x" * 400}'}, "environment"),
        ({"type": "RangeError"}, "agent"),
    ],
)
def test_an_error_of_the_models_provider_is_recognized(
    chat: LogWriter, data: dict[str, Any], by: str
) -> None:
    """`show` blames the environment for an error of the model's provider, and not the agent."""
    opened(chat)
    chat.to_agent(PROMPT)
    refused = error(2, -32603, "it failed")
    refused["error"]["data"] = data
    chat.to_client(refused)
    leaves(chat)
    assert judged(chat) == [("answer.error", "error", by)]


@pytest.mark.parametrize(
    ("code", "message", "by"),
    [
        (-31001, "'NoneType' object has no attribute 'x'", "agent"),
        (500, "RESOURCE_EXHAUSTED: try later", "environment"),
        (429, "too fast", "environment"),
        (-32000, "worker panicked", "agent"),
        (-32000, "not authorized", None),
        (-32602, "no such block", None),
        (-32603, "ENOSPC: no space left on device", "environment"),
        (-32603, "stream disconnected before completion", "environment"),
    ],
)
def test_the_error_of_a_prompt_may_show_who_is_to_blame(
    chat: LogWriter, code: int, message: str, by: str | None
) -> None:
    """If a prompt fails, `show` reads in the error if it blames agent, environment or nobody."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.to_client(error(2, code, message))
    leaves(chat)
    assert judged(chat) == [("answer.error", "error", by)]


def test_a_session_that_is_opened_in_the_end_was_no_failure(chat: LogWriter) -> None:
    """If a session cannot be opened, but a later one can, `show` reports a hint and no problem."""
    chat.to_agent(INITIALIZE)
    chat.to_client(result(0, protocolVersion=1))
    chat.to_agent(request(7, "session/new", cwd="/gone", mcpServers=[]))
    chat.to_client(error(7, -32602, "the directory is gone"))
    chat.to_agent(SESSION[0])
    chat.to_client(SESSION[1])
    leaves(chat)
    assert judged(chat) == [("answer.error", "info", None)]


def test_an_empty_recording_is_no_clean_one(chat: LogWriter) -> None:
    """If a recording has no messages, `show` reports a problem."""
    chat.event(capture_log.EXIT, code=0)
    assert judged(chat) == [("recording.empty", "error", None)]


def test_an_empty_recording_is_no_clean_one_however_its_client_ended_it(tmp_path: Path) -> None:
    """If a recording has no messages and the client ended the agent, `show` reports a problem."""
    with LogWriter(tmp_path / "closed.db") as closed:
        closed.event(capture_log.END, capture_log.TO_AGENT, reason="end of file")
        closed.event(capture_log.EXIT, code=1)
        assert judged(closed) == [("recording.empty", "error", None), ("agent.ended", "info", None)]
    with LogWriter(tmp_path / "stopped.db") as stopped:
        stopped.event(capture_log.SIGNAL, signal=signal.SIGTERM, name="SIGTERM", action="passed on")
        stopped.event(capture_log.EXIT, signal=signal.SIGTERM, name="SIGTERM")
        assert judged(stopped) == [("recording.empty", "error", None)]


def test_where_npm_keeps_its_log_is_not_what_failed(chat: LogWriter) -> None:
    """`show` does not quote the line of stderr in which npm names its log file."""
    chat.to_agent(INITIALIZE)
    stderr(chat, "npm error 404 'nobody@*' is not in this registry.")
    stderr(chat, "npm error A complete log of this run can be found in: /home/me/1-debug-0.log")
    chat.event(capture_log.EXIT, code=1)
    assert judged(chat) == [("agent.ended", "error", "environment")]
    assert words(chat).endswith(
        """stderr says "npm error 404 'nobody@*' is not in this registry.\""""
    )


def test_an_answer_that_a_fault_broke_is_named(chat: LogWriter) -> None:
    """If a fault cuts an answer that the client waits for, `show` names the fault."""
    opened(chat)
    chat.to_agent(PROMPT)
    chat.to_client(result(2, stopReason="end_turn"))
    leaves(chat)
    chat.close()
    chat.finish()
    with contextlib.closing(sqlite3.connect(chat.path)) as connection:
        row = (7, "half", "truncate", b'{"jsonrpc"', b'{"json\n')
        connection.execute("INSERT INTO faults_fired VALUES (?, ?, ?, ?, ?, NULL)", row)
        connection.execute("UPDATE frame_rows SET fault = 'half' WHERE seq = 7")
        connection.commit()
    assert words(chat) == 'fault half broke #7, the answer to session/prompt "go" (#6)'


@pytest.mark.parametrize(
    "line",
    ["I looked at the usage of proxy.py", "41 tests passed", "no author, invalid next token", ""],
)
def test_ordinary_words_name_no_environment(line: str) -> None:
    """If stderr has ordinary words such as `proxy.py`, `show` does not blame the environment."""
    assert outside_reason(line) is None
