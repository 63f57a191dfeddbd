"""For `show`, a long silence is a hang only if a peer had to act."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.base.forms import converter
from acp_proxy.explain.show.current_waits import waiting_for
from acp_proxy.explain.show.summary import summarize
from acp_proxy.explain.waits import (
    Party,
    PendingRequest,
    Silence,
    answering_party,
)
from acp_proxy.recording import log_format as capture_log
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
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
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from acp_proxy.explain.show.summary_values import Summary

HOUR = 3600 * 10**9
S = 10**9


@pytest.fixture
def recorder(tmp_path: Path) -> Iterator[LogWriter]:
    """A log in which client and agent have met, and a session with an open prompt."""
    with LogWriter(tmp_path / "x.db") as recorder:
        handshake(recorder)  # 2, 3
        recorder.to_agent(request(1, "session/new", cwd="/srv", mcpServers=[]))  # 4
        recorder.to_client(result(1, sessionId="s"))  # 5
        prompt(recorder, 2)  # 6
        yield recorder


def prompt(recorder: LogWriter, rpc_id: int, session: str = "s") -> None:
    """Records that the client prompts."""
    recorder.to_agent(request(rpc_id, "session/prompt", sessionId=session, prompt=[text("go")]))


def chunk(recorder: LogWriter, session: str = "s") -> None:
    """Records that the agent streams a piece of a text."""
    recorder.to_client(update(session, "agent_message_chunk", content=text("…")))


def permission(recorder: LogWriter, rpc_id: Any = 0) -> None:
    """Records that the agent asks for a permission."""
    call = {"toolCallId": "c", "title": "Run tests"}
    options = [{"optionId": "y", "kind": "allow_once"}]
    recorder.to_client(
        request(rpc_id, "session/request_permission", sessionId="s", toolCall=call, options=options)
    )


def terminal(recorder: LogWriter) -> None:
    """Records that the agent has the client run a program."""
    recorder.to_client(request(7, "terminal/create", sessionId="s", command="make"))
    recorder.to_agent(result(7, terminalId="t"))


def summary_of(recorder: LogWriter, *, live: bool = False) -> Summary:
    """The summary of the recording, now."""
    if not live:
        recorder.abandon()
    with RecordingReader(recorder.path) as reader:
        assert reader.live is live
        return summarize(reader, ORIGIN_NS + recorder.t_ns)


def finish(recorder: LogWriter) -> None:
    """Records the end of the turn, and then of the conversation."""
    recorder.to_client(result(2, stopReason="end_turn"))
    recorder.end()
    recorder.close()


def sentences(summary: Summary) -> list[str]:
    """Returns the texts of the problems."""
    return [problem.text for problem in summary.findings]


# Waits that are not hangs


def ask_a_person(recorder: LogWriter) -> Callable[[], None]:
    """Records that the agent asks a person for permission."""
    permission(recorder)
    return lambda: recorder.to_agent(result(0, outcome={"outcome": "selected", "optionId": "y"}))


def ask_for_a_form(recorder: LogWriter) -> Callable[[], None]:
    """Records an elicitation."""
    recorder.to_client(request(0, "elicitation/create", sessionId="s", message="Who?"))
    return lambda: recorder.to_agent(result(0, action="accept"))


def ask_beside_the_session(recorder: LogWriter) -> Callable[[], None]:
    """Records an elicitation that names a request in place of a session."""
    recorder.to_client(request(0, "elicitation/create", requestId=2, message="Who?"))
    return lambda: recorder.to_agent(result(0, action="accept"))


def wait_for_exit(recorder: LogWriter) -> Callable[[], None]:
    """Records that the agent waits for the end of a program."""
    terminal(recorder)
    recorder.to_client(request(0, "terminal/wait_for_exit", sessionId="s", terminalId="t"))
    return lambda: recorder.to_agent(result(0, exitCode=0))


def run_a_terminal(recorder: LogWriter) -> Callable[[], None]:
    """Records a tool call in progress whose program is still running."""
    terminal(recorder)
    content = [{"type": "terminal", "terminalId": "t"}]
    recorder.to_client(
        update("s", "tool_call", toolCallId="c", status="in_progress", content=content)
    )
    return lambda: None


def log_in(recorder: LogWriter) -> Callable[[], None]:
    """Records the end of the turn, and a login that waits for a person."""
    recorder.to_client(result(2, stopReason="end_turn"))
    recorder.to_agent(request(2, "authenticate", methodId="browser"))
    return lambda: None


WAITS = [
    (ask_a_person, "person", "a person: permission 1 h 0 min",
     ', session/request_permission "Run tests" (#7)'),
    (ask_for_a_form, "person", "a person: form 1 h 0 min", ', elicitation/create "Who?" (#7)'),
    (ask_beside_the_session, "person", "a person: form 1 h 0 min",
     ', elicitation/create "Who?" (#7)'),
    (wait_for_exit, "program", "a program 1 h 0 min", ', terminal/wait_for_exit "t" (#9)'),
    (run_a_terminal, "agent", "call c 1 h 0 min", ", prompt #6 open"),
    (log_in, "person", "a person: login 1 h 0 min", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("begin", "awaited_", "words", "more"), WAITS, ids=lambda v: getattr(v, "__name__", "")
)
def test_an_hour_without_a_peer_to_act_is_no_hang(
    recorder: LogWriter,
    begin: Callable[[LogWriter], Callable[[], None]],
    awaited_: str,
    words: str,
    more: str,
) -> None:
    """If a turn waits for a person or a program for an hour, `show` blames no peer for silence."""
    go_on = begin(recorder)
    recorder.t_ns += HOUR
    running = summary_of(recorder, live=True)
    assert running.findings == []
    (waiting,) = running.waiting
    assert waiting_for(running.waiting) == words
    assert waiting.text == f"{words}{more}"
    assert waiting.awaited == awaited_
    assert waiting.waited_ns == pytest.approx(HOUR, abs=100 * MS)
    go_on()
    finish(recorder)
    ended = summary_of(recorder)
    assert ended.findings == []
    assert ended.waiting == []
    assert ended.longest_silence is not None
    assert ended.longest_silence.length_ns < S


def test_a_prompt_that_streams_is_no_hang(recorder: LogWriter) -> None:
    """If an agent sends chunks of a turn for an hour, `show` does not report a hang."""
    for _ in range(120):
        recorder.t_ns += 30 * S
        chunk(recorder)
    recorder.t_ns += 2 * S
    running = summary_of(recorder, live=True)
    assert running.findings == []
    (waiting,) = running.waiting
    assert waiting.text == "agent silent 2 s, prompt #6 open"
    finish(recorder)
    assert summary_of(recorder).findings == []


def test_a_prompt_that_was_just_sent_is_no_hang(recorder: LogWriter) -> None:
    """`show` does not call a prompt that was just sent a hang."""
    recorder.t_ns += 59 * S
    summary = summary_of(recorder, live=True)
    assert summary.findings == []
    assert [w.text for w in summary.waiting] == ["agent silent 59 s, prompt #6 open"]


def test_a_tool_call_of_the_agents_own_is_no_hang(recorder: LogWriter) -> None:
    """If the agent's own tool call runs for an hour, `show` does not call the silence a hang."""
    recorder.to_client(update("s", "tool_call", toolCallId="c", title="make", status="pending"))
    recorder.to_client(update("s", "tool_call", toolCallId="d", title="ls", status="pending"))
    recorder.to_client(update("s", "tool_call_update", toolCallId="d", status="completed"))
    recorder.t_ns += HOUR
    (waiting,) = summary_of(recorder, live=True).waiting
    assert waiting.text == "call make 1 h 0 min, prompt #6 open"
    recorder.to_client(update("s", "tool_call_update", toolCallId="c", status="completed"))
    finish(recorder)
    ended = summary_of(recorder)
    assert ended.findings == []
    assert ended.longest_silence is not None
    assert ended.longest_silence.from_seq == 9


def test_a_session_without_a_prompt_waits_for_nothing(recorder: LogWriter) -> None:
    """If a session has no prompt, `show` does not list the session as waiting."""
    recorder.to_client(result(2, stopReason="end_turn"))
    recorder.t_ns += HOUR
    assert summary_of(recorder, live=True).waiting == []
    prompt(recorder, 2)
    finish(recorder)
    assert summary_of(recorder).findings == []


def test_an_agent_whose_client_does_not_read_is_not_blamed(recorder: LogWriter) -> None:
    """While a client does not read, `show` does not blame the agent for silence."""
    recorder.event(capture_log.NOTE, capture_log.TO_CLIENT, action="stalled", since=ORIGIN_NS)
    recorder.t_ns += HOUR
    recorder.event(capture_log.NOTE, capture_log.TO_CLIENT, action="resumed", since=ORIGIN_NS)
    finish(recorder)
    kinds = {problem.rule for problem in summary_of(recorder).findings}
    assert "pipe.not-reading" in kinds
    assert "wait.silence" not in kinds


def test_nothing_is_expected_of_an_agent_that_has_left(recorder: LogWriter) -> None:
    """If an hour passes after the agent's exit, `show` does not call the agent silent."""
    recorder.event(capture_log.EXIT, code=0)
    recorder.t_ns += HOUR
    recorder.close()
    summary = summary_of(recorder)
    assert [problem.rule for problem in summary.findings] == ["agent.ended"]


def test_replayed_history_is_no_turn(recorder: LogWriter) -> None:
    """`show` does not count the history of a loaded session as a turn."""
    recorder.to_client(result(2, stopReason="end_turn"))
    recorder.to_agent(request(3, "session/load", sessionId="s", cwd="/srv", mcpServers=[]))
    chunk(recorder)
    recorder.to_client(update("s", "tool_call", toolCallId="c", status="pending"))
    recorder.to_client(result(3))
    recorder.end()
    recorder.close()
    summary = summary_of(recorder)
    assert summary.findings == []
    assert len(summary.turns) == 1
    assert summary.tool_calls == []
    assert summary.opened[0].opened == ["new", "load"]


# Hangs


def test_an_agent_that_is_silent_in_a_prompt_hangs(recorder: LogWriter) -> None:
    """If an agent is silent during a prompt, `show` says how long."""
    chunk(recorder)  # 7
    recorder.t_ns += HOUR
    running = summary_of(recorder, live=True)
    assert sentences(running) == [
        'the agent has not answered session/prompt "go" (#6) and has sent nothing since #7'
    ]
    assert running.waiting == []
    chunk(recorder)
    finish(recorder)
    ended = summary_of(recorder)
    assert [(p.severity, p.text, p.seqs) for p in ended.findings] == [
        (
            "info",
            "the agent sent nothing for 1 h 0 min in turn 1, from #7 to #8,"
            " with session/prompt #6 unanswered",
            (7, 8),
        )
    ]
    silence = ended.longest_silence
    assert silence is not None
    assert (silence.party, silence.from_seq, silence.to_seq) == (Party.AGENT, 7, 8)
    assert silence.length_ns == HOUR + MS


def test_a_client_that_does_not_answer_hangs(recorder: LogWriter) -> None:
    """If a client does not answer a file request, `show` blames the client."""
    recorder.to_client(request(0, "fs/read_text_file", sessionId="s", path="/srv/a.py"))
    recorder.t_ns += HOUR
    running = summary_of(recorder, live=True)
    assert sentences(running) == [
        'the client has not answered fs/read_text_file "/srv/a.py" (#7) and has sent nothing since'
    ]
    assert running.waiting == []
    recorder.to_agent(result(0, content="x"))
    finish(recorder)
    ended = summary_of(recorder)
    assert sentences(ended) == [
        "the client sent nothing for 1 h 0 min in turn 1, from #7 to #8,"
        " with fs/read_text_file #7 unanswered"
    ]


def test_a_hang_until_the_end_is_found(recorder: LogWriter) -> None:
    """If an agent is silent until the recording ends, `show` reports the silence."""
    recorder.t_ns += HOUR
    recorder.event(capture_log.EXIT, signal=9)
    recorder.close()
    killed, silent = sentences(summary_of(recorder))
    assert killed.startswith("the agent was killed by SIGKILL")
    assert "in the middle of turn 1" in killed
    assert silent.startswith("the agent sent nothing for 1 h 0 min in turn 1, from #6,")
    assert silent.endswith("until the end")


def test_a_session_may_be_silent_while_another_streams(recorder: LogWriter) -> None:
    """`show` reports that one session is silent, even if another session is active."""
    recorder.to_agent(request(3, "session/new", cwd="/srv", mcpServers=[]))
    recorder.to_client(result(3, sessionId="other"))
    prompt(recorder, 4, "other")
    for _ in range(100):
        recorder.t_ns += S
        chunk(recorder, "other")
    (problem,) = summary_of(recorder, live=True).findings
    assert problem.text.startswith('the agent has not answered session/prompt "go" (#6) and')
    (waiting,) = summary_of(recorder, live=True).waiting
    assert waiting.session == "other"
    assert "streaming" in waiting.text


def test_a_program_that_has_ended_holds_no_peer_up(recorder: LogWriter) -> None:
    """If the agent is silent although its program has ended, `show` blames the agent."""
    terminal(recorder)
    recorder.to_client(request(0, "terminal/output", sessionId="s", terminalId="t"))
    recorder.to_agent(result(0, output="", truncated=False, exitStatus={"exitCode": 0}))
    recorder.t_ns += HOUR
    (problem,) = summary_of(recorder, live=True).findings
    assert "has sent nothing since #10" in problem.text


def test_the_client_has_to_answer_a_permission_of_a_cancelled_turn(recorder: LogWriter) -> None:
    """After a cancel, `show` blames the client for a permission request that stays open."""
    permission(recorder)
    recorder.t_ns += HOUR
    assert summary_of(recorder, live=True).findings == []
    recorder.to_agent(notification("session/cancel", sessionId="s"))
    recorder.t_ns += 11 * S
    (problem,) = summary_of(recorder, live=True).findings
    assert problem.text.startswith("the client has not answered session/request_permission")


def test_a_turn_of_v2_is_pending_beyond_its_answer(tmp_path: Path) -> None:
    """In ACP v2, `show` ends a turn when its session becomes idle."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(0, "initialize", protocolVersion=2, info={"name": "c"}))
        recorder.to_client(result(0, protocolVersion=2, info={"name": "a"}, capabilities={}))
        prompt(recorder, 1)  # 4
        recorder.to_client(result(1))  # 5
        recorder.t_ns += HOUR
        (problem,) = summary_of(recorder, live=True).findings
        assert problem.text.endswith("and has sent nothing since #5")
        recorder.to_client(update("s", "state_update", state="idle", stopReason="end_turn"))
        recorder.t_ns += HOUR
        recorder.end()
        recorder.close()
        summary = summary_of(recorder)
    assert sentences(summary) == [
        "the agent sent nothing for 1 h 0 min in turn 1, from #5 to #6,"
        " with session/prompt #4 unanswered"
    ]


def test_requests_within_a_batch_are_pending(tmp_path: Path) -> None:
    """If a request in a JSON-RPC batch is answered after an hour, `show` reports the silence."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent([request(1, "session/list"), request(2, "session/new")])
        recorder.t_ns += HOUR
        recorder.to_client([result(1), error(2, -32603, "no")])
        recorder.end()
        summary = summary_of(recorder)
    (silence,) = [p for p in summary.findings if p.rule == "wait.silence"]
    assert silence.text.endswith("from #2 to #3, with session/list #2 unanswered")


def test_the_members_of_a_silence_keep_their_names() -> None:
    """`show --json` keeps the member names `debtor` and `owed` for a silence."""
    request = PendingRequest(1, 0, "to-agent", "session/prompt", "s", 1, Party.AGENT)
    written = converter.unstructure(Silence(Party.AGENT, request, 1, 2, 0, 5))
    assert (written["debtor"], written["owed"]["seq"]) == ("agent", 1)
    assert not {"party", "request"} & set(written)


@each_case(
    ("direction", "method", "who"),
    [
        ("to-client", "session/request_permission", Party.PERSON),
        ("to-client", "elicitation/create", Party.PERSON),
        ("to-agent", "authenticate", Party.PERSON),
        ("to-agent", "auth/login", Party.PERSON),
        ("to-client", "terminal/wait_for_exit", Party.PROGRAM),
        ("to-client", "fs/read_text_file", Party.CLIENT),
        ("to-client", None, Party.CLIENT),
        ("to-agent", "session/prompt", Party.AGENT),
    ],
)
def test_whom_a_request_waits_for(direction: str, method: str | None, who: Party) -> None:
    """`show` decides by a request's direction and method who has to answer it."""
    assert answering_party(direction, method) is who
