"""`stats` assigns every nanosecond of a turn to streaming, silence, or one of four waits."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.explain.stats.statistics import gather
from acp_proxy.explain.stats.turn_times import (
    PAUSE_NS,
    Part,
    RunningTurn,
    TurnTime,
    WholeTime,
    waiting_part,
)
from acp_proxy.protocol.connection_state import Exchange, Turn
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case
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
    from pathlib import Path

SECOND = 1000 * MS
HOUR = 3600 * SECOND


@each_case(
    ("method", "part"),
    [
        ("session/request_permission", Part.PERSON),
        ("elicitation/create", Part.PERSON),
        ("terminal/create", Part.TERMINALS),
        ("terminal/wait_for_exit", Part.TERMINALS),
        ("fs/read_text_file", Part.FILES),
        ("fs/write_text_file", Part.FILES),
        ("mcp/message", Part.OTHER),
        ("_x/y", Part.OTHER),
        ("", Part.OTHER),
        (None, Part.OTHER),
    ],
)
def test_the_waiting_part_depends_on_the_method(method: str | None, part: Part) -> None:
    """By a request's method, `stats` decides if a turn waits for a person, a program or a file."""
    assert waiting_part(method) is part


def running_from(t_ns: int) -> RunningTurn:
    """Returns a running turn that began at a time."""
    return RunningTurn(Turn(1, "s", 1, t_ns), t_ns, t_ns)


def wait_for(turn: RunningTurn, *parts: Part) -> None:
    """Adds open requests to a turn, one for each part that it waits for."""
    asked = Exchange(1, "to-client", None, None, None, 1, 0)
    turn.waits = {number: (asked, part, 0) for number, part in enumerate(parts)}
    turn.awaited = Counter(parts)


def test_an_agent_streams_as_long_as_it_does_not_pause() -> None:
    """`stats` counts a turn as silent before the first output and in gaps of over 250 ms."""
    turn = running_from(0)
    assert turn.pass_time(5) == (Part.SILENT, 5)
    turn.has_spoken = True
    assert turn.pass_time(5 + PAUSE_NS) == (Part.STREAMING, PAUSE_NS)
    assert turn.pass_time(6 + 2 * PAUSE_NS) == (Part.SILENT, PAUSE_NS + 1)
    assert turn.pass_time(7 + 2 * PAUSE_NS) == (Part.STREAMING, 1)


def test_parallel_waits_are_counted_once() -> None:
    """If the agent waits for a person and a file at the same time, `stats` counts the time once."""
    turn = running_from(0)
    wait_for(turn, Part.FILES)
    assert turn.pass_time(10) == (Part.FILES, 10)
    wait_for(turn, Part.FILES, Part.PERSON)
    turn.has_spoken = True
    assert turn.pass_time(15) == (Part.PERSON, 5)
    assert turn.pass_time(30) == (Part.PERSON, 15)
    wait_for(turn, Part.FILES)
    assert turn.pass_time(37) == (Part.FILES, 7)
    wait_for(turn)
    assert turn.pass_time(40) == (Part.STREAMING, 3)
    assert sum(turn.spent.values()) == 40


def test_time_never_runs_backwards() -> None:
    """If the clock goes back between two frames of a turn, `stats` counts no time between them."""
    turn = running_from(100)
    assert turn.pass_time(40) == (Part.SILENT, 0)
    assert turn.pass_time(107) == (Part.SILENT, 7)


def prompt(number: int, session: str = "s", words: str = "go") -> dict[str, Any]:
    """Returns a prompt as a line."""
    return request(number, "session/prompt", sessionId=session, prompt=[text(words)])


def chunk(session: str = "s") -> dict[str, Any]:
    """Returns a piece of a message as a line."""
    return update(session, "agent_message_chunk", content=text("a"))


def asks(number: int, method: str, session: str = "s") -> dict[str, Any]:
    """A request of the agent."""
    return request(number, method, sessionId=session)


def times(recorder: LogWriter) -> tuple[list[TurnTime], WholeTime]:
    """Ends a recording, and returns the times of its turns and of the whole."""
    recorder.abandon()
    with RecordingReader(recorder.path) as reader:
        statistics = gather(reader)
    return statistics.turns, statistics.time


def parts(turn: TurnTime) -> dict[str, int]:
    """Returns the milliseconds of each part of a turn that took time."""
    return {str(part): turn.part_ns(part) // MS for part in Part if turn.part_ns(part)}


def test_a_turn_of_an_hour_is_divided(tmp_path: Path) -> None:
    """`stats` divides the time of a turn among the agent, a person, programs and files."""
    recorder = LogWriter(tmp_path / "x.db")
    recorder.to_agent(prompt(1))  # at 1 ms
    recorder.t_ns += 3 * SECOND
    recorder.to_client(chunk(), chunk(), asks(0, "session/request_permission"))
    recorder.t_ns += HOUR
    recorder.to_agent(result(0))
    recorder.to_client(asks(1, "terminal/wait_for_exit"), asks(2, "fs/read_text_file"))
    recorder.to_agent(error(2, -32002, "none"))
    recorder.t_ns += 2 * HOUR
    recorder.to_agent(result(1, exitCode=0))
    recorder.to_client(chunk(), result(1, stopReason="end_turn"))
    (turn,), whole = times(recorder)
    hour = HOUR // MS
    assert parts(turn) == {
        "streaming": 1 + 1 + 1,
        "silent": 3001 + 1 + 1,
        "person": hour + 1,
        "terminals": 2 * hour + 3,
    }
    assert turn.duration_ns == turn.agent_ns + turn.client_ns == 3 * HOUR + 3 * SECOND + 10 * MS
    assert turn.client_ns == 3 * HOUR + 4 * MS
    assert turn.first_update_ns == 3 * SECOND + MS
    assert (turn.start_ns, turn.open, turn.stop_reason) == (MS, False, "end_turn")
    assert whole == WholeTime(MS, turn.duration_ns, 0)


def test_an_open_turn_counts_until_the_end(tmp_path: Path) -> None:
    """`stats` measures an open turn up to the last frame."""
    recorder = LogWriter(tmp_path / "x.db")
    recorder.to_agent(prompt(1))
    recorder.to_client(asks(0, "session/request_permission"))
    recorder.t_ns += 240 * SECOND
    recorder.end()
    (turn,), _ = times(recorder)
    assert turn.open
    assert turn.end_seq is None
    assert parts(turn) == {"silent": 1, "person": 240_000 + 4}


def test_in_v2_a_turn_ends_when_the_session_is_idle(tmp_path: Path) -> None:
    """In ACP v2, `stats` ends a turn when its session becomes idle."""
    recorder = LogWriter(tmp_path / "x.db", dialect="v2")
    recorder.to_agent(prompt(1))
    recorder.to_client(result(1))
    recorder.t_ns += SECOND
    recorder.to_client(chunk(), asks(5, "session/request_permission"))
    recorder.t_ns += SECOND
    recorder.to_agent(result(5))
    recorder.to_client(update("s", "state_update", state="idle", stopReason="end_turn"))
    (turn,), _ = times(recorder)
    assert parts(turn) == {"streaming": 1, "silent": 1002 + 1, "person": 1001}
    assert not turn.open


def test_requests_without_a_session_belong_to_the_open_turn(tmp_path: Path) -> None:
    """If only one turn is open, `stats` assigns requests without a session to this turn."""
    recorder = LogWriter(tmp_path / "x.db", dialect="draft-1.0")
    recorder.to_agent(request(1, "session/prompt", sessionId="s", content=[text("go")]))
    recorder.to_client(
        notification("session/update", sessionId="s", type="plan", data={}),
        request(0, "fs/read_text_file", path="/a"),
    )
    recorder.t_ns += SECOND
    recorder.to_agent(result(0, content=""))
    recorder.to_client(result(1, stopReason="end_turn"))
    (turn,), _ = times(recorder)
    assert parts(turn) == {"streaming": 1, "silent": 2, "files": 1001}


def test_requests_without_a_session_belong_to_no_turn_of_two(tmp_path: Path) -> None:
    """If two turns are open, `stats` assigns requests without a session to no turn."""
    recorder = LogWriter(tmp_path / "x.db")
    recorder.to_agent(prompt(1))
    recorder.to_client(request(0, "mcp/message", connectionId="m"))
    recorder.to_agent(result(0), prompt(2, "t"))
    recorder.to_client(request(1, "mcp/message", connectionId="m"))
    recorder.to_agent(result(1))
    recorder.to_client(result(1, stopReason="end_turn"), result(2, stopReason="end_turn"))
    (first, other), whole = times(recorder)
    assert first.other_ns == MS
    assert other.other_ns == 0
    assert whole.in_turns_ns == 7 * MS  # of two turns that overlap, not the sum


def test_requests_of_another_session_belong_to_no_turn(tmp_path: Path) -> None:
    """For `stats`, a request of one session is not part of another session's turn."""
    recorder = LogWriter(tmp_path / "x.db")
    recorder.to_agent(prompt(1))
    recorder.to_client(asks(0, "fs/read_text_file", "t"))
    recorder.to_agent(result(0))
    recorder.to_client(result(1, stopReason="end_turn"))
    (turn,), _ = times(recorder)
    assert parts(turn) == {"silent": 3}


@pytest.mark.parametrize(("path", "waited"), [("/a/x", (1000, 0)), ("/b/x", (0, 1000))])
def test_the_draft_waits_for_files_in_two_open_turns(
    tmp_path: Path, path: str, waited: tuple[int, int]
) -> None:
    """In the 1.0 draft, `stats` assigns a file request to a turn by the session's directory."""
    recorder = LogWriter(tmp_path / "x.db", dialect="draft-1.0")
    for number, name in enumerate("ab"):
        recorder.to_agent(
            request(number, "session/load", sessionId=name, workingDirectory=f"/{name}"),
            request(10 + number, "session/prompt", sessionId=name, content=[]),
        )
        recorder.to_client(result(number))
    recorder.to_client(request(1, "fs/read_text_file", path=path))
    recorder.t_ns += SECOND - MS
    recorder.to_agent(result(1, content=""))
    recorder.to_client(result(10, stopReason="end_turn"), result(11, stopReason="end_turn"))
    turns, _ = times(recorder)
    assert tuple(parts(turn).get("files", 0) for turn in turns) == waited


def test_a_batch_asks_several_things_at_once(tmp_path: Path) -> None:
    """`stats` measures each request of a JSON-RPC batch up to the answer to this request."""
    recorder = LogWriter(tmp_path / "x.db", dialect="v2")
    recorder.to_agent(prompt(1))
    recorder.to_client([asks(0, "fs/read_text_file"), asks(1, "session/request_permission")])
    recorder.to_agent(result(1))
    recorder.t_ns += SECOND
    recorder.to_agent(result(0))
    (turn,), _ = times(recorder)
    assert parts(turn) == {"silent": 1, "person": 1, "files": 1001}


def test_replayed_history_is_no_turn(tmp_path: Path) -> None:
    """`stats` does not count the history of a loaded session as a turn."""
    recorder = LogWriter(tmp_path / "x.db")
    recorder.to_agent(request(1, "session/load", sessionId="s", cwd="/", mcpServers=[]))
    recorder.to_client(chunk(), chunk(), result(1))
    turns, whole = times(recorder)
    assert turns == []
    assert whole == WholeTime(4 * MS, 0, 0)


def test_time_outside_turns_is_counted_separately(tmp_path: Path) -> None:
    """`stats` counts the time before, between and after turns apart from the time in turns."""
    recorder = LogWriter(tmp_path / "x.db")
    recorder.t_ns += SECOND
    for number in (1, 2):
        recorder.to_agent(prompt(number))
        recorder.to_client(result(number, stopReason="end_turn"))
        recorder.t_ns += HOUR
    recorder.end()
    (first, two), whole = times(recorder)
    assert (first.duration_ns, two.duration_ns) == (MS, MS)
    assert whole == WholeTime(SECOND + MS, 2 * MS, 2 * HOUR + 2 * MS + 3 * MS)


def test_time_that_passes_does_not_look_at_all_that_is_waited_for() -> None:
    """The work of `stats` for each frame does not depend on the number of open requests."""

    class Unread(dict[int, Any]):
        def values(self) -> Any:
            raise AssertionError

    turn = running_from(0)
    wait_for(turn, Part.OTHER, Part.FILES)
    turn.waits = Unread(turn.waits)
    assert turn.pass_time(10) == (Part.FILES, 10)


@pytest.mark.parametrize(
    ("pause_ms", "streaming", "silent"), [(90, 90, 0), (250, 250, 0), (251, 0, 251)]
)
def test_pauses_within_a_run_of_chunks_are_measured(
    tmp_path: Path, pause_ms: int, streaming: int, silent: int
) -> None:
    """`stats` counts a pause of over 250 ms between two chunks as silence."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
        for _ in range(10):
            recorder.to_client(update("s", "agent_message_chunk", content=text("ok")))
            recorder.t_ns += (pause_ms - 1) * MS
        recorder.t_ns -= (pause_ms - 1) * MS
        recorder.to_client(result(1, stopReason="end_turn"))
    with RecordingReader(recorder.path) as reader:
        (turn,) = gather(reader).turns
    assert (turn.streaming_ns, turn.silent_ns) == ((9 * streaming + 1) * MS, (9 * silent + 1) * MS)
