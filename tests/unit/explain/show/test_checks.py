"""Tests which facts of a conversation are errors, warnings or hints for `show`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.check.catalogue import rules
from acp_proxy.explain import show
from acp_proxy.explain.describe.error_texts import code_name
from acp_proxy.explain.findings import CONVERSATION
from acp_proxy.explain.show.checks import CHECKS
from acp_proxy.explain.show.summary import summarize
from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.log_format import GAVE_UP, STDERR, TO_AGENT, TO_CLIENT
from acp_proxy.store.reader import RecordingReader
from tests.support import captures
from tests.support.cases import each_case
from tests.support.command_line import run
from tests.support.log_writer import (
    MS,
    ORIGIN_NS,
    LogWriter,
    error,
    handshake,
    notification,
    request,
    result,
    text,
    update,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from acp_proxy.explain.show.summary_values import Summary

STREAMS = {"to-agent": TO_AGENT, "to-client": TO_CLIENT, "stderr": STDERR}


def summary_of(path: Path) -> Summary:
    """Reads a recording's summary."""
    with RecordingReader(path) as reader:
        return summarize(reader)


def sentences(recorder: LogWriter) -> list[str]:
    """Returns the problems and remarks of a recording that has ended."""
    recorder.abandon()
    marks = {"error": "✗", "warning": "!", "info": "-"}
    return [f"{marks[p.severity]} {p.text}" for p in summary_of(recorder.path).findings]


@pytest.fixture
def recorder(tmp_path: Path) -> LogWriter:
    """A log in which client and agent have met."""
    recorder = LogWriter(tmp_path / "x.db")
    handshake(recorder)  # 2, 3
    return recorder


def prompt(recorder: LogWriter, rpc_id: int = 1, session: str = "s") -> None:
    """Records that the client prompts."""
    recorder.to_agent(request(rpc_id, "session/prompt", sessionId=session, prompt=[text("go")]))


def answer(recorder: LogWriter) -> None:
    """Records that the agent answers the prompt."""
    recorder.to_client(result(1, stopReason="end_turn"))


def turn(recorder: LogWriter) -> None:
    """Records a turn, frames 4 and 5."""
    prompt(recorder)
    answer(recorder)


def cancel(recorder: LogWriter) -> None:
    """Records that the client cancels the turn."""
    recorder.to_agent(notification("session/cancel", sessionId="s"))


def client_leaves(recorder: LogWriter) -> None:
    """Records that the client closes its end."""
    recorder.event(capture_log.END, TO_AGENT, reason="end of file")


def play(capture: captures.Capture, recorder: LogWriter) -> None:
    """Writes a captured conversation into a log, as a recorder would have written it."""
    for record in capture.records:
        recorder.t_ns = record.t_ns
        match record:
            case captures.Read(_, stream, data):
                recorder.chunk(STREAMS[stream], data)
            case captures.StreamEnd(_, stream):
                recorder.event(capture_log.END, STREAMS[stream], reason="end of file")
            case captures.Signal(_, signum):
                recorder.event(capture_log.SIGNAL, signal=signum, action="passed on")
            case captures.Exit(_, code):
                how = {"code": code} if code >= 0 else {"signal": -code}
                recorder.event(capture_log.EXIT, **how)
    recorder.close()


def test_every_finding_is_in_the_catalogue() -> None:
    """The manual lists exactly the findings that `show` can have about a conversation."""
    ids = re.compile(rf'"((?:{"|".join(CONVERSATION)})\.[a-z-]+)"')
    files = Path(show.__path__[0]).glob("*.py")
    tested = {name for path in files for name in ids.findall(path.read_text("utf-8"))}
    assert sorted(tested) == sorted(
        rule.id for rule in rules().values() if rule.group in CONVERSATION
    )


# How the agent ended


def exits(code: int) -> Callable[[LogWriter], None]:
    """Records that the agent exits."""
    return lambda recorder: recorder.event(capture_log.EXIT, code=code)


def dies(signum: int) -> Callable[[LogWriter], None]:
    """Records that the agent is killed."""
    return lambda recorder: recorder.event(capture_log.EXIT, signal=signum)


def is_told(signum: int, action: str = "passed on", **why: Any) -> Callable[[LogWriter], None]:
    """Records that the agent gets a signal."""
    return lambda recorder: recorder.event(capture_log.SIGNAL, signal=signum, action=action, **why)


def silence(recorder: LogWriter) -> None:
    """Lets three seconds pass without a message."""
    recorder.t_ns += 3000 * MS


ENDS: list[tuple[list[Callable[[LogWriter], None]], list[str]]] = [
    ([client_leaves, exits(0)], []),
    ([is_told(15), exits(0)], []),
    ([is_told(15), exits(143)], []),
    ([is_told(15), dies(15)], []),
    ([exits(0)], ["- the agent exited with 0 (#4), while its client was connected"]),
    ([exits(1)], ["✗ the agent exited with 1 (#4), while its client was connected"]),
    ([client_leaves, exits(1)], ["- the agent exited with 1 (#5)"]),
    (
        [dies(11)],
        [
            "✗ the agent crashed: SIGSEGV (#4), which did not come through acp-proxy,"
            " while its client was connected"
        ],
    ),
    (
        [client_leaves, is_told(9, "sent", reason="it did not end on SIGTERM"), dies(9)],
        ["✗ the agent was ended by SIGKILL (#6), which acp-proxy sent: it did not end on SIGTERM"],
    ),
    (
        [prompt, dies(9)],
        [
            "✗ the agent was killed by SIGKILL (#5), which did not come through acp-proxy,"
            ' in the middle of turn 1 (prompt "go" #4)'
        ],
    ),
    (
        [prompt, client_leaves, exits(0)],
        [
            '- the agent never answered session/prompt "go" (#4) and sent nothing for 1 ms'
            " until the client gave up (closed its end #5)"
        ],
    ),
    (
        [prompt, cancel, client_leaves, exits(0)],
        [
            '- the agent never answered session/prompt "go" (#4) and sent nothing for 2 ms'
            " until the client gave up (cancel #5, 1 ms later closed its end #6)"
        ],
    ),
    (
        [prompt, lambda recorder: prompt(recorder, 2, "other"), is_told(15), dies(15)],
        [
            '- the agent never answered session/prompt "go" (#4) and sent nothing for 2 ms'
            " until the client gave up (SIGTERM #6)",
            '- the agent never answered session/prompt "go" (#5) and sent nothing for 1 ms'
            " until the client gave up (SIGTERM #6)",
        ],
    ),
    (
        [prompt, is_told(15, reason=GAVE_UP), answer, exits(0)],
        [
            '✗ the agent did not answer session/prompt "go" (#4) and sent nothing for 1 ms'
            " until the client gave up (SIGTERM #5)"
        ],
    ),
    ([turn, is_told(15, reason=GAVE_UP), exits(0)], []),
    (
        [prompt, is_told(signal.SIGUSR1), exits(1)],
        ['✗ the agent exited with 1 (#6), in the middle of turn 1 (prompt "go" #4)'],
    ),
    (
        [is_told(signal.SIGUSR1), exits(1)],
        ["✗ the agent exited with 1 (#5), while its client was connected"],
    ),
    ([is_told(signal.SIGUSR1), dies(signal.SIGUSR1)], []),
    ([is_told(15), is_told(signal.SIGUSR1), dies(15)], []),
    ([prompt], ['✗ the recording ends in the middle of turn 1 (prompt "go" #4)']),
    ([turn], []),
]


@pytest.mark.parametrize(("steps", "expected"), ENDS)
def test_the_end_of_the_agent_is_judged(
    recorder: LogWriter, steps: list[Callable[[LogWriter], None]], expected: list[str]
) -> None:
    """If an agent ended during a turn, `show` reports a problem with the signal or exit code."""
    for step in steps:
        step(recorder)
    assert sentences(recorder) == expected


@pytest.mark.parametrize(
    ("steps", "by"),
    [
        ([exits(1)], "agent"),
        ([prompt, exits(0)], "agent"),
        ([prompt, dies(signal.SIGSEGV)], "agent"),
        ([prompt, dies(9)], "environment"),  # the system kills what takes too much memory
        ([client_leaves, is_told(9, "sent", reason="it did not end"), dies(9)], "agent"),
        ([prompt, client_leaves, exits(0)], None),  # the client left while the agent was at work
        ([prompt, silence, client_leaves, exits(0)], "agent"),
        ([prompt, is_told(15), dies(15)], "client"),
        ([prompt, is_told(15, reason=GAVE_UP), dies(15)], "agent"),
        ([prompt, client_leaves, is_told(15, reason=GAVE_UP), dies(15)], "agent"),
        ([prompt, dies(15), is_told(15)], "client"),  # the signal to the group came first
    ],
)
def test_who_is_to_blame_for_an_end(
    recorder: LogWriter, steps: list[Callable[[LogWriter], None]], by: str | None
) -> None:
    """`show` blames an agent for its end only if the agent exited or crashed by itself."""
    for step in steps:
        step(recorder)
    recorder.abandon()
    [problem] = summary_of(recorder.path).findings
    assert problem.by == by


def test_an_agent_that_cannot_start_is_a_problem(tmp_path: Path) -> None:
    """If an agent cannot be started, `show` reports a problem."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.event(
            capture_log.EXIT, code=127, reason="cannot start the agent 'x': no such file"
        )
        recorder.close()
    assert sentences(recorder) == ["✗ cannot start the agent 'x': no such file (#2)"]


# Lines, errors and bytes

CUSTOM = notification("_x/status", sessionId="s")


def test_error_codes_are_named_by_dialect(tmp_path: Path) -> None:
    """`show` names an error code as the recording's dialect does."""
    told = []
    for dialect in ("v1", "draft-1.0"):
        with LogWriter(tmp_path / f"{dialect}.db", dialect=dialect) as recorder:
            recorder.to_agent(request(1, "session/list"), request(2, "session/list"))
            recorder.to_client(error(1, -32000, "no"), error(2, -32000, "no"))
        told += sentences(recorder)
    assert told == [
        "- the agent answered session/list with error -32000 (authentication required): no,"
        " 2 times, first (#4)",
        "- the agent answered session/list with error -32000 (session not found): no,"
        " 2 times, first (#4)",
    ]


def test_routine_errors_are_no_problems(recorder: LogWriter) -> None:
    """`show` does not report routine errors, such as an unknown extension or a missing file."""
    recorder.to_agent(request(1, "_x/y"))
    recorder.to_client(error(1, -32601, "Method not found"))
    recorder.to_client(request(1, "fs/read_text_file", sessionId="s", path="/new"))
    recorder.to_agent(error(1, -32002, "Resource not found"))
    assert sentences(recorder) == []
    codes = summary_of(recorder.path).error_codes
    assert [(e.method, e.code, e.name, e.is_routine) for e in codes] == [
        ("_x/y", -32601, "method not found", True),
        ("fs/read_text_file", -32002, "resource not found", True),
    ]


def test_a_failed_prompt_is_a_problem(recorder: LogWriter) -> None:
    """If a prompt is answered with an error, `show` reports a problem."""
    prompt(recorder)
    recorder.to_client(error(1, -32603, "Internal error: out of credit"))
    assert sentences(recorder) == [
        "✗ the agent answered session/prompt with error -32603: Internal error: out of credit"
        " (#5): the model's provider refused"
    ]
    assert summary_of(recorder.path).turns[0].outcome == "error"


@each_case(
    ("code", "dialect", "name"),
    [
        (-32601, None, "method not found"),
        (-32002, "v1", "resource not found"),
        (-32002, "draft-1.0", "permission denied"),
        (-32009, "draft-1.0", "timeout"),
        (-32009, "v2", ""),
        (400, "v1", ""),
        (None, "v1", ""),
        ("-32601", "v1", ""),
    ],
)
def test_unknown_error_codes_have_no_name(code: Any, dialect: str | None, name: str) -> None:
    """If the dialect does not define an error code, `show` prints the number of the code."""
    assert code_name(code, dialect) == name


def test_undelivered_bytes_are_reported_with_their_frames(recorder: LogWriter) -> None:
    """If a peer was gone and bytes could not be delivered to it, `show` says how many."""
    turn(recorder)
    recorder.to_client(CUSTOM)
    recorder.event(capture_log.UNDELIVERED, TO_CLIENT, bytes=30)
    assert sentences(recorder) == [
        "- the client was gone: 30 bytes could not be delivered to it (#6)"
    ]


def test_an_agent_that_stops_reading_is_reported(recorder: LogWriter) -> None:
    """If an agent stops reading, `show` says when it stopped and how many bytes waited."""
    turn(recorder)
    since = ORIGIN_NS + recorder.t_ns
    recorder.to_agent(CUSTOM)
    recorder.t_ns += 6000 * MS
    recorder.event(capture_log.NOTE, TO_AGENT, action="stalled", since=since, bytes=65536)
    assert sentences(recorder) == [
        "✗ the agent stopped reading at 0.005 s (from frame #6): 65,536 bytes waited;"
        " it never read again, 6.0 s"
    ]


def test_a_forged_stall_event_does_no_harm(recorder: LogWriter) -> None:
    """If a stall event in a recording has invalid members, `show` still prints the stall."""
    recorder.event(capture_log.NOTE, TO_AGENT, action="stalled")
    recorder.event(capture_log.NOTE, TO_CLIENT, action="stalled", since=1 << 62, bytes="many")
    recorder.event(capture_log.NOTE, action="stalled")
    recorder.event(capture_log.NOTE, STDERR, action="resumed", reason="\x1b[2J")
    recorder.event(capture_log.NOTE, STDERR)
    assert [s.partition(" at ")[0] for s in sentences(recorder)] == [
        "✗ the agent stopped reading",
        "✗ the client stopped reading",
    ]


# What was counted


def test_tool_calls_have_their_last_status(recorder: LogWriter) -> None:
    """`show` counts each tool call once, by its last status, however many updates it has."""
    prompt(recorder)
    for call, kind, status in (("a", "read", "completed"), ("b", "read", "failed")):
        start = {"toolCallId": call, "status": "pending", "title": call}
        recorder.to_client(with_kind(update("s", "tool_call", **start), kind))
        recorder.to_client(update("s", "tool_call_update", toolCallId=call, status=status))
        recorder.to_client(update("s", "tool_call_update", toolCallId=call, content=[]))
    recorder.to_client(update("s", "tool_call", toolCallId="c", title="c"))
    recorder.to_client(result(1, stopReason="end_turn"))
    recorder.abandon()
    calls = summary_of(recorder.path).tool_calls
    assert [(tally.kind, tally.count, tally.statuses) for tally in calls] == [
        ("read", 2, {"completed": 1, "failed": 1}),
        ("other", 1, {"no status": 1}),
    ]


def with_kind(message: dict[str, Any], kind: str) -> dict[str, Any]:
    """Returns a tool call to which the member `kind` is added."""
    message["params"]["update"]["kind"] = kind
    return message


def test_permission_requests_have_their_answers(recorder: LogWriter) -> None:
    """`show` lists a permission request with the chosen option."""
    options = [{"optionId": "n", "name": "No", "kind": "reject_once"}]
    answers: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
        ("session/request_permission", {"options": options},
         result(0, outcome={"outcome": "selected", "optionId": "n"})),
        ("session/request_permission", {"options": options},
         result(0, outcome={"outcome": "cancelled"})),
        ("session/request_permission", {"operation": "file_read", "resource": "/a"},
         result(0, granted=False)),
        ("elicitation/create", {"message": "Who?"}, result(0, action="accept")),
        ("elicitation/create", {"message": "Who?"}, error(0, -32603, "no")),
    ]  # fmt: skip
    for method, params, answer in answers:
        recorder.to_client(request(0, method, sessionId="s", **params))
        recorder.t_ns += 1000 * MS
        recorder.to_agent(answer)
    recorder.to_client(request(0, "elicitation/create", sessionId="s"))
    recorder.abandon()
    summary = summary_of(recorder.path)
    assert [(q.title, q.answer) for q in summary.questions] == [
        ("", "reject_once"),
        ("", "cancelled"),
        ("file_read /a", "denied"),
        ("Who?", "accept"),
        ("Who?", "error"),
        ("", None),
    ]
    assert summary.questions[0].waited_ns == 1001 * MS
    assert summary.answers["open"] == 1


def test_sessions_have_their_directory_and_how_they_were_opened(recorder: LogWriter) -> None:
    """`show` lists each session with its directory, and whether it is new or loaded."""
    recorder.to_agent(request(1, "session/new", cwd="/a", mcpServers=[]))
    recorder.to_client(result(1, sessionId="one"))
    recorder.to_agent(request(2, "session/load", sessionId="two", cwd="/b", mcpServers=[]))
    recorder.to_client(result(2))
    prompt(recorder, 3, "three")
    recorder.to_client(result(3, stopReason="end_turn"))
    recorder.abandon()
    summary = summary_of(recorder.path)
    assert [(s.id, s.opened, s.cwd, s.turns) for s in summary.opened] == [
        ("one", ["new"], "/a", 0),
        ("two", ["load"], "/b", 0),
        ("three", [], None, 1),
    ]


def test_files_and_terminals_are_counted_by_outcome(recorder: LogWriter) -> None:
    """`show` counts file requests by their outcome: answered, failed or open."""
    for n, answer in enumerate((result(0, content="x"), error(1, -32603, "no"), None)):
        recorder.to_client(request(n, "fs/read_text_file", sessionId="s", path="/a"))
        if answer is not None:
            recorder.to_agent(answer)
    recorder.abandon()
    summary = summary_of(recorder.path)
    read = summary.files_read
    assert (read.answered, read.failed, read.open) == (1, 1, 1)
    assert summary.files_written.answered == summary.terminals.answered == 0


def test_failed_tool_calls_are_listed(recorder: LogWriter) -> None:
    """`show` lists a failed tool call with its title."""
    prompt(recorder)  # 4
    failed = [{"type": "content", "content": text("command not found")}]
    recorder.to_client(
        update("s", "tool_call", toolCallId="a", title="pytest -q", status="pending"),  # 5
        update("s", "tool_call", toolCallId="b", title="Read", status="completed"),
        update("s", "tool_call_update", toolCallId="a", status="failed", content=failed),  # 7
        result(1, stopReason="end_turn"),
    )
    recorder.abandon()
    (call,) = summary_of(recorder.path).failed_calls
    assert (call.seq, call.title, call.status) == (7, "pytest -q", "failed")
    assert call.text == "command not found"
    shown = run("inspect", "show", recorder.path).stdout
    assert "  #7  failed     pytest -q (a): command not found\n" in shown


def test_every_check_declares_what_it_needs() -> None:
    """Each check of `show` declares which data it needs from an imported log."""
    for info in pkgutil.iter_modules(show.__path__, f"{show.__name__}."):
        module = importlib.import_module(info.name)
        for name, function in inspect.getmembers(module, inspect.isfunction):
            returned = str(inspect.signature(function).return_annotation)
            if function.__module__ == info.name and name[0] != "_" and "Finding]" in returned:
                is_whole = [*inspect.signature(function).parameters] == ["context"]
                assert (function in CHECKS) is (is_whole and "Iterator" in returned), name
    assert len(CHECKS) > 10
