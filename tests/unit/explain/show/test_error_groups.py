"""`show` blames a failed request on the peer that broke a rule, on a fault, or on nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.explain.show.error_groups import Rules
from acp_proxy.explain.show.result_words import result_words
from acp_proxy.explain.show.summary import find_quickly, summarize
from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.log_format import TO_AGENT, TO_CLIENT
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
from tests.support.log_writer import LogWriter, error, handshake, line, request, result, text
from tests.support.protocol_documents import Example, draft, official

if TYPE_CHECKING:
    from pathlib import Path

    from acp_proxy.explain.show.summary_values import Summary

AGENT = {"protocolVersion": 1, "agentCapabilities": {"loadSession": False}}


def summary_of(recorder: LogWriter) -> Summary:
    """Returns the summary of a log so far."""
    recorder.end()
    recorder.close()
    recorder.abandon()
    with RecordingReader(recorder.path) as reader:
        return summarize(reader)


def sentences(recorder: LogWriter) -> list[str]:
    """Returns the sentences of a log's findings, except findings about its end."""
    marks = {"error": "✗", "warning": "!", "info": "-"}
    findings = summary_of(recorder).findings
    return [
        f"{marks[p.severity]} {p.text}"
        for p in findings
        if p.rule not in ("agent.ended", "recording.incomplete")
    ]


@pytest.fixture
def recorder(tmp_path: Path) -> LogWriter:
    """A log in which client and agent have met, in v1."""
    recorder = LogWriter(tmp_path / "x.db")
    handshake(recorder)  # 2, 3
    return recorder


def refused(recorder: LogWriter, sent: dict[str, Any], code: int = -32602) -> str:
    """Records a request and its error, frames 4 and 5, and returns the finding about them."""
    recorder.to_agent(sent)
    recorder.to_client(error(sent["id"], code, "no"))
    (said,) = sentences(recorder)
    return said


def test_the_sender_is_charged_for_missing_params(recorder: LogWriter) -> None:
    """If a v1 client sends `session/prompt` without `prompt`, `show` blames the client."""
    for rpc_id in range(1, 16):
        recorder.to_agent(request(rpc_id, "session/prompt", sessionId="s", content=[text("go")]))
        recorder.to_client(error(rpc_id, -32602, "Invalid params"))
    summary = summary_of(recorder)
    (problem,) = (p for p in summary.findings if p.rule == "answer.error")
    assert problem.severity == "error"
    assert problem.text == (
        'the client sent session/prompt without "prompt", which v1 requires: error -32602:'
        " Invalid params, 15 times, first (#5)"
    )
    (tally,) = summary.error_codes
    assert (tally.charged, tally.why) == ("client", 'without "prompt", which v1 requires')


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (
            request(1, "session/prompt", sessionId="s", prompt="go"),
            '✗ the client sent session/prompt with a "prompt" that is not a list: error -32602'
            " (invalid params): no (#5)",
        ),
        (
            request(1, "session/prompt"),
            '✗ the client sent session/prompt without "sessionId", which v1 requires:'
            " error -32602 (invalid params): no (#5)",
        ),
        (
            request(1, "auth/login", methodId="m"),
            "✗ the client sent auth/login, which v1 does not define: error -32602 (invalid params):"
            " no (#5)",
        ),
        (
            request(1, "session/request_permission", sessionId="s"),
            "- the client sent session/request_permission, which only the agent may send in v1:"
            " error -32602 (invalid params): no (#5)",
        ),
        (
            request(1, "session/prompt", sessionId="s", prompt=[]),
            "✗ the agent answered session/prompt with error -32602 (invalid params): no (#5)",
        ),
    ],
)
def test_violations_of_a_request_are_described(
    recorder: LogWriter, sent: dict[str, Any], said: str
) -> None:
    """`show` names the missing member of an invalid request."""
    assert refused(recorder, sent) == said


def test_the_agent_is_charged_for_its_invalid_request(recorder: LogWriter) -> None:
    """If an agent requests a file without a path, `show` blames the agent."""
    recorder.to_client(request(7, "fs/read_text_file", sessionId="s"))
    recorder.to_agent(error(7, -32602, "no"))
    assert sentences(recorder) == [
        '✗ the agent sent fs/read_text_file without "path", which v1 requires: error -32602'
        " (invalid params): no (#5)"
    ]


def test_the_sender_is_charged_for_a_method_that_is_not_offered(tmp_path: Path) -> None:
    """If a client loads a session from an agent that cannot load any, `show` blames the client."""
    recorder = LogWriter(tmp_path / "x.db")
    recorder.to_agent(request(0, "initialize", protocolVersion=1))
    recorder.to_client(result(0, **AGENT))
    sent = request(1, "session/load", sessionId="s", cwd="/", mcpServers=[])
    assert refused(recorder, sent, -32601) == (
        "✗ the client sent session/load, which the agent does not offer (loadSession):"
        " error -32601 (method not found): no (#5)"
    )


def test_the_answerer_is_charged_for_an_internal_error(recorder: LogWriter) -> None:
    """If a peer answers a request with an internal error, `show` blames that peer."""
    sent = request(1, "session/prompt", sessionId="s")
    assert refused(recorder, sent, -32603) == (
        "✗ the agent answered session/prompt with error -32603 (internal error): no (#5)"
    )


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("initialize", {"protocolVersion": 1}),
        ("authenticate", {"methodId": "m"}),
        ("session/new", {"cwd": "/", "mcpServers": []}),
        ("session/load", {"sessionId": "s", "cwd": "/", "mcpServers": []}),
        ("session/resume", {"sessionId": "s", "cwd": "/"}),
        ("session/fork", {"sessionId": "s", "cwd": "/"}),
    ],
)
def test_a_failed_opening_is_a_problem(tmp_path: Path, method: str, params: dict[str, Any]) -> None:
    """If a new session is refused, `show` reports a problem."""
    recorder = LogWriter(tmp_path / "x.db")
    recorder.to_agent(request(1, method, **params))
    recorder.to_client(error(1, -32001, "broken"))
    assert sentences(recorder) == [f"✗ the agent answered {method} with error -32001: broken (#3)"]


def test_a_completed_login_is_no_problem(recorder: LogWriter) -> None:
    """If a login follows a refused `session/new`, `show` reports the refusal only as a hint."""
    recorder.to_agent(request(1, "session/new", cwd="/", mcpServers=[]))
    recorder.to_client(error(1, -32000, "log in"))
    recorder.to_agent(request(2, "authenticate", methodId="m"))
    recorder.to_client(result(2))
    recorder.to_agent(request(3, "session/new", cwd="/", mcpServers=[]))
    recorder.to_client(result(3, sessionId="s"))
    (said,) = sentences(recorder)
    assert said.startswith(
        "- the agent answered session/new with error -32000 (authentication required)"
    )


def test_a_failed_load_is_listed_as_failed(recorder: LogWriter) -> None:
    """If a session could not be loaded, `show` lists it as failed."""
    recorder.to_agent(request(1, "session/load", sessionId="s", cwd="/w", mcpServers=[]))
    recorder.to_client(error(1, -32002, "gone"))
    (session,) = summary_of(recorder).opened
    assert (session.opened, session.failed, session.cwd) == ([], ["load"], "/w")


def test_refused_logins_and_failed_turns_are_problems(tmp_path: Path) -> None:
    """In the 1.0 draft, `show` reports a refused login and a turn with the stop reason `error`."""
    recorder = LogWriter(tmp_path / "x.db", dialect="draft-1.0")
    login = {"method": "api_key", "credentials": {"apiKey": "x"}}
    recorder.to_agent({"jsonrpc": "2.0", "id": 1, "method": "authenticate", "params": login})
    recorder.to_client(result(1, success=False, error="bad key"))
    recorder.to_agent(request(2, "session/prompt", sessionId="s", content=[text("go")]))
    recorder.to_client(result(2, stopReason="error"))
    assert sentences(recorder) == [
        '✗ the agent refused authenticate "api_key" (#2): success is false, bad key (#3)',
        '✗ turn 1 (prompt "go" #4) ended with stop reason error (#5)',
    ]


def test_effects_of_faults_are_no_problems(recorder: LogWriter) -> None:
    """If a fault makes up an error or drops a request, `show` prints a warning with the fault."""
    recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))  # 4
    fault(recorder, "error-on-prompt", "error-reply")
    made(recorder, error(1, -32603, "Internal error"))  # 5
    recorder.to_agent(request(2, "session/set_mode", sessionId="s", modeId="m"))  # 6
    fault(recorder, "lost", "drop")
    made(recorder, b"log line\n")
    assert sentences(recorder) == [
        "! fault error-on-prompt answered session/prompt with error -32603: Internal error (#5)",
        '! the agent never answered session/set_mode "m" (#6), which waited 4 ms,'
        " because of fault lost",
    ]


def test_an_agent_that_a_fault_ended_is_not_to_blame(recorder: LogWriter) -> None:
    """If a fault ended the agent during a turn, `show` blames the fault."""
    recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))  # 4
    recorder.event(capture_log.EFFECT, TO_CLIENT, rule="crash", action="kill", signal=9)  # 5
    recorder.event(capture_log.EXIT, signal=9)  # 6
    recorder.abandon()
    with RecordingReader(recorder.path) as reader:
        (problem,) = summarize(reader).findings
    assert (problem.rule, problem.severity) == ("fault.effect", "warning")
    amid = 'in the middle of turn 1 (prompt "go" #4)'
    assert problem.text == f"fault crash ended the agent (#6), {amid}"


def test_an_answer_that_a_fault_withheld_is_reported(recorder: LogWriter) -> None:
    """If a fault withheld an answer, `show` names the fault."""
    recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))  # 4
    recorder.to_client(result(1, stopReason="end_turn"))  # 5
    recorder.event(capture_log.FAULT, TO_CLIENT, rule="lost", action="drop", delivered="none")
    assert sentences(recorder) == [
        '! fault lost withheld #5, the answer to session/prompt "go" (#4)'
    ]
    with RecordingReader(recorder.path) as reader:  # the first line of `show` names the fault
        assert result_words(find_quickly(reader)[0], reader.recording) == "fault lost #5"


def fault(recorder: LogWriter, rule: str, action: str) -> None:
    """Records that a rule withholds the last line to the agent."""
    recorder.event(capture_log.FAULT, TO_AGENT, rule=rule, action=action, delivered="none")


def made(recorder: LogWriter, message: Any) -> None:
    """Records that a rule makes up a line to the client."""
    recorder._record(capture_log.PART, TO_CLIENT, line(message))
    fields = {"rule": "error-on-prompt", "action": "error-reply", "at": recorder.t_ns}
    recorder.event(capture_log.MADE, TO_CLIENT, **fields)


@each_case("example", official(), ids=lambda e: f"{e.kind}-{e.method}")
def test_what_the_official_documents_show_is_allowed(example: Example) -> None:
    """`show` finds no broken rule in any request that the documents of ACP v1 contain."""
    assert complaint(example, "v1") == ""


@each_case("example", draft(), ids=lambda e: f"{e.kind}-{e.method}")
def test_what_the_draft_shows_is_allowed(example: Example) -> None:
    """`show` finds no broken rule in any request that the documents of the 1.0 draft contain."""
    assert complaint(example, "draft-1.0") == ""


def complaint(example: Example, dialect: str) -> str:
    """Returns what `show` says against an example request; empty for other messages."""
    if example.kind != "request":
        return ""
    direction = example.direction.value
    return Rules(dialect, {}).violation(direction, example.method, example.message)
