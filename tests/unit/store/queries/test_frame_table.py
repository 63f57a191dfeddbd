"""Queries with a filter return the same frames as a test of every frame."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from acp_proxy.base.errors import DamagedRecording
from acp_proxy.recording import log_format as capture_log
from acp_proxy.recording.filters import EVERYTHING, parse
from acp_proxy.recording.filters.filter_conditions import Beyond, Like
from acp_proxy.recording.recording import StoredFrame
from acp_proxy.store.queries.sql_conditions import translate
from acp_proxy.store.reader import RecordingReader
from tests.support.batch_messages import CHAT, lines_of, recording
from tests.support.cases import each_case
from tests.support.indexed_rows import alter
from tests.support.log_writer import (
    MS,
    LogWriter,
    notification,
    record_conversation,
    request,
    result,
    text,
    update,
    write_conversation,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acp_proxy.recording.recording import FrameRun

RECORDINGS = sorted((Path(__file__).parents[4] / "recordings").glob("*.db"))

terms = st.sampled_from(
    [
        "dir:to-client",
        "dir:to-agent|to-client",
        "kind:request|event",
        "kind:event",
        "kind:error|stderr",
        "method:session/*",
        "method:session/[pu]*",
        "method:nothing",
        "session:*",
        "session:none",
        "session:s",
        "kind:batch",
        "method:session/prompt",
        "call:c",
        "id:9",
        "call:*",
        "terminal:*",
        "id:2",
        'id:"2"',
        "seq:4..40",
        "seq:>7",
        "size:>100",
        "size:..200",
        "latency:>1ms",
        "latency:<1h",
        "turn:1",
        "text:e",
        "params.update.sessionUpdate=agent_message_chunk",
        "fault:any",
        "is:unanswered",
        "unanswered",
        "is:failed",
        "status:completed",
        "hello",
        "method:update",
        "params.update.sessionUpdate=agent*",
    ]
)
filters = st.recursive(
    terms,
    lambda inner: st.one_of(
        st.builds("not ({})".format, inner),
        st.builds("({} {})".format, inner, inner),
        st.builds("({} or {})".format, inner, inner),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[RecordingReader]]:
    """Readers of finished recordings, and of a running recording that is half indexed."""
    directory = tmp_path_factory.mktemp("recordings")
    with contextlib.ExitStack() as stack:
        story = record_conversation(directory / "story.db")
        recorder = stack.enter_context(LogWriter(directory / "running.db"))
        write_conversation(recorder)
        recorder.index()
        write_conversation(recorder)
        batches = directory / "batches.jsonl"
        batches.write_bytes(b"".join(lines_of(*CHAT)))
        paths = [story, recorder.path, batches, *RECORDINGS]
        yield [stack.enter_context(RecordingReader(path)) for path in paths]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(filters)
def test_a_filter_finds_the_frames_that_match_it(readers: list[RecordingReader], text: str) -> None:
    """A filter chooses the same frames, whether SQL or Python tests its conditions."""
    chosen = parse(text)
    for reader in readers:
        every = list(reader.rows())
        meant = [row for row in every if chosen.finds(row)]
        assert list(reader.rows(chosen)) == meant
        frames = [row for row in meant if "raw" in row]
        assert list(reader.frames(chosen)) == frames
        assert list(reader.heads(chosen)) == [
            StoredFrame(*(row[name] for name in StoredFrame._fields[:-1])) for row in frames
        ]
        lines = [frame.raw for frame in reader.heads(chosen, with_lines=True)]
        assert lines == [row["raw"] for row in frames]


@each_case("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_filter_can_start_after_a_number(path: Path) -> None:
    """The store can apply a filter to only the frames after a given number."""
    with RecordingReader(path) as reader:
        for chosen in (EVERYTHING, parse("dir:to-client")):
            frames = list(reader.frames(chosen))
            middle = frames[len(frames) // 2]["seq"]
            later = [frame["seq"] for frame in reader.frames(chosen, after=middle)]
            assert later == [frame["seq"] for frame in frames if frame["seq"] > middle]


@pytest.mark.parametrize("indexed", [0, 1, 2, 3, 4])
def test_a_request_is_found_by_the_ids_in_its_answer(tmp_path: Path, indexed: int) -> None:
    """The filter `session:s` also finds the request whose answer creates the session."""
    said = [
        ("to_agent", {"id": 1, "method": "session/new", "params": {"cwd": "/"}}),
        ("to_client", {"id": 1, "result": {"sessionId": "s-new"}}),
        ("to_client", {"id": 1, "method": "terminal/create", "params": {"sessionId": "s-new"}}),
        ("to_agent", {"id": 1, "result": {"terminalId": "t-new"}}),
    ]
    with LogWriter(tmp_path / "named.db") as recorder:
        for number, (peer, message) in enumerate(said):
            if number == indexed:
                recorder.index()
            getattr(recorder, peer)({"jsonrpc": "2.0", **message})
        with RecordingReader(recorder.path) as reader:

            def methods(text: str) -> list[str]:
                chosen = parse(text)
                frames = list(reader.frames(chosen))
                assert [h.seq for h in reader.heads(chosen)] == [f["seq"] for f in frames]
                return [f"{frame['kind']} {frame['method']}" for frame in frames]

            created = ["request terminal/create", "response terminal/create"]
            assert methods("session:s-n*") == [
                "request session/new",
                "response session/new",
                *created,
            ]
            assert methods("terminal:t-new") == created
            assert methods("not terminal:t-new kind:request") == ["request session/new"]


@each_case(
    ("text", "expected"),
    [
        ("method:session/prompt", [1, 4]),
        ("method:session/prompt kind:response", [4]),
        ("method:session/prompt kind:error", []),
        ("kind:error", [4]),
        ("call:c", [2, 3, 4]),
        ("call:c kind:response", [3]),
        ("id:9", [2, 3]),
        ("turn:1 kind:request", [1, 2]),
        ("kind:batch", [1, 2, 3, 4]),
        ("not kind:batch", []),
        ("not method:session/*", []),
        ("text:mode dir:to-agent", [1]),
        ("error.code=-32603", [4]),
        ("session:s latency:>=0 kind:response", [3, 4]),
    ],
)
def test_a_batch_is_found_by_its_messages(text: str, expected: list[int]) -> None:
    """A filter finds a JSON-RPC batch if one of its messages matches."""
    with recording(*CHAT) as reader:
        chosen = parse(text)
        assert [row["seq"] for row in reader.frames(chosen)] == expected
        assert [head.seq for head in reader.heads(chosen)] == expected


@pytest.mark.parametrize("text", ["method:session/prompt", "call:c", "terminal:t"])
def test_frames_are_found_by_an_index(text: str) -> None:
    """A query by method, call or terminal uses an index of the recording's database."""
    with RecordingReader(RECORDINGS[0]) as reader:
        plans: list[str] = []
        reader.connection.set_trace_callback(plans.append)
        list(reader.heads(parse(text, None)))
        reader.connection.set_trace_callback(None)
        (sql,) = [sql for sql in plans if "length(f.raw)" in sql]
        plan = [row[3] for row in reader.connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
    assert not [step for step in plan if step.startswith("SCAN") or "rowid>" in step.split("(")[-1]]


def test_frames_are_counted(readers: list[RecordingReader]) -> None:
    """`RecordingReader.count` also counts frames that are only in the capture log."""
    for reader in readers:
        assert reader.count() == sum(1 for _ in reader.frames())


def test_many_numbers_are_fetched_in_pieces(tmp_path: Path) -> None:
    """The store can fetch thousands of frames by their numbers, and loses none."""
    with LogWriter(tmp_path / "long.db") as recorder:
        for number in range(5000):
            recorder.to_agent({"jsonrpc": "2.0", "method": "x" if number % 2 else "y"})
    with RecordingReader(recorder.path) as reader:
        numbers = [row["seq"] for row in reader.frames(parse("method:x"))]
    assert numbers == list(range(3, 5002, 2))


def test_a_term_without_a_column_is_not_translated() -> None:
    """If a condition of a filter cannot be written in SQL, acp-proxy tests it in Python."""
    for condition in (Beyond(), Like("method", "session/[!p]*")):
        where = translate(condition, "labels", "labels")
        assert (where.sql, where.exact) == ("1", False)


@pytest.mark.parametrize(
    "spoil",
    [
        "frame_rows SET kind = 99",
        "frame_rows SET flags = 0",
        "frame_rows SET method = 12345",
        "frame_rows SET t_ns = 'x'",
        "labels SET text = CAST(text AS BLOB)",
    ],
)
def test_unknown_codes_are_damage(tmp_path: Path, spoil: str) -> None:
    """If a frame's row has an invalid value, as kind 99, its recording is refused as damaged."""
    path = alter(record_conversation(tmp_path / "x.db"), f"UPDATE {spoil}")
    with RecordingReader(path) as reader:
        for frames in (reader.heads(), reader.heads(with_lines=True)):
            with pytest.raises(DamagedRecording):
                list(frames)


def test_a_few_frames_are_read_like_all(readers: list[RecordingReader]) -> None:
    """The store can read a range of frames that is partly in the database and partly in the log."""
    for reader in readers:
        every = [*reader.heads(with_lines=True)]
        for place in range(len(every)):
            some = every[place : place + 3]
            span = some[0].seq, some[-1].seq
            assert [*reader.heads(span=span, with_lines=True)] == some


def test_a_filter_of_thousands_of_terms_is_exact(tmp_path: Path) -> None:
    """If a filter has too many terms for SQLite, acp-proxy tests the filter in Python."""
    path = record_conversation(tmp_path / "x.db")
    with RecordingReader(path) as reader:
        for word in ("seq:6", "session:s-1", "method:session/prompt"):
            few = [row["seq"] for row in reader.frames(parse(word))]
            many = parse(" or ".join([word] * 2000))
            assert [row["seq"] for row in reader.frames(many)] == few != []
            assert [head.seq for head in reader.heads(many)] == few
        nested = parse("(" * 90 + " or ".join(["not seq:6"] * 2000) + ")" * 90)
        assert 6 not in [row["seq"] for row in reader.frames(nested)]


def test_a_pattern_of_many_stars_takes_no_time(tmp_path: Path) -> None:
    """A filter with many stars, such as `method:*a*a*a`, is matched quickly."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(notification("a" * 2000))
        recorder.close()
        recorder.finish()
    with RecordingReader(tmp_path / "x.db") as reader:
        assert list(reader.frames(parse(f"method:{'*a' * 30}*b"))) == []
        assert len(list(reader.frames(parse(f"method:{'*a' * 30}*")))) == 1


@pytest.mark.parametrize("text", ["method:a*c", 'method:"a\\u0000*"', "not method:a*c", "method:a"])
def test_a_label_may_have_a_nul(tmp_path: Path, text: str) -> None:
    """A filter matches a method that contains a NUL."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_client(notification("a\0b/c"), notification("a"), notification("a/c"))
        recorder.close()
        recorder.finish()
    chosen = parse(text)
    with RecordingReader(recorder.path) as reader:
        expected = [row["seq"] for row in reader.frames() if chosen.matches(row)]
        assert [row["seq"] for row in reader.frames(chosen)] == expected
        assert [head.seq for head in reader.heads(chosen)] == expected


def test_a_filter_may_have_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    """A filter with bytes that are not UTF-8 matches nothing."""
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        assert not list(reader.frames(parse("method:\udcff or session:\udcff* or id:\udcff")))


@pytest.mark.parametrize("text", ["not " * 99 + "method:x", "not (" * 49 + "seq:>3 or ("
                                  "kind:error and method:s*)" + ")" * 49])  # fmt: skip
def test_a_filter_may_be_nested_as_deeply_as_the_grammar_has_it(tmp_path: Path, text: str) -> None:
    """If a filter is nested too deeply for SQLite, acp-proxy tests its conditions in Python."""
    chosen = parse(text)
    with RecordingReader(record_conversation(tmp_path / "x.db")) as reader:
        expected = [row["seq"] for row in reader.frames() if chosen.matches(row)]
        assert [row["seq"] for row in reader.frames(chosen)] == expected
        assert len(list(reader.heads(chosen))) == len(expected)


FOREVER = 1 << 62


def _chunk(recorder: LogWriter, session: str = "s", **more: Any) -> None:
    """Records a streamed chunk of the agent's message."""
    recorder.to_client(update(session, "agent_message_chunk", content=text("…"), **more))


def _runs(recorder: LogWriter, pause_ns: int = 5 * MS) -> list[tuple[int, int]]:
    """Returns the first and last frame numbers of each run of chunks, from the prompt on."""
    with RecordingReader(recorder.path) as reader:
        return [(run.seq, run.last_seq) for run in reader.runs(pause_ns)]


@pytest.fixture
def recorder(tmp_path: Path) -> Any:
    """A log with an open prompt. The number of the next frame is 3."""
    with LogWriter(tmp_path / "x.db") as recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
        yield recorder


def test_the_first_frames_may_be_runs_by_themselves(recorder: LogWriter) -> None:
    """The store can join message chunks to runs, but keep those up to a given frame separate."""
    for _ in range(6):
        _chunk(recorder)  # 3 to 8
    recorder.abandon()
    with RecordingReader(recorder.path) as reader:
        spans = [(run.seq, run.last_seq) for run in reader.runs(5 * MS, single_upto=5)]
    assert spans == [(2, 2), (3, 3), (4, 4), (5, 8)]


def test_pieces_are_one_run_until_a_pause(recorder: LogWriter) -> None:
    """The store joins consecutive message chunks to one run, up to a pause or another frame."""
    for _ in range(3):
        _chunk(recorder)  # 3, 4, 5
    recorder.t_ns += 10 * MS
    for _ in range(2):
        _chunk(recorder)  # 6, 7
    recorder.to_client(update("s", "tool_call", toolCallId="c"))  # 8
    _chunk(recorder)  # 9
    recorder.to_client(result(1, stopReason="end_turn"))  # 10
    for _ in range(2):
        _chunk(recorder)  # 11, 12: of no turn
    recorder.abandon()
    assert _runs(recorder) == [
        (2, 2), (3, 5), (6, 7), (8, 8), (9, 9), (10, 10), (11, 11), (12, 12),
    ]  # fmt: skip


def test_updates_about_a_terminal_are_no_run(recorder: LogWriter) -> None:
    """In v2, the store joins message chunks to one run, but not updates of a terminal."""
    _chunk(recorder)
    for _ in range(2):
        recorder.to_client(update("s", "terminal_update", terminalId="t"))
    _chunk(recorder)
    _chunk(recorder)
    recorder.abandon()
    assert _runs(recorder) == [(2, 2), (3, 3), (4, 4), (5, 5), (6, 7)]


def test_an_update_that_ends_a_turn_is_in_no_run(tmp_path: Path) -> None:
    """In v2, the update that ends a turn is not in one run with the message chunks before it."""
    with LogWriter(tmp_path / "x.db", dialect="v2") as recorder:
        recorder.to_agent(request(1, "session/prompt", sessionId="s", prompt=[text("go")]))
        recorder.to_client(result(1))  # 3
        for _ in range(2):
            _chunk(recorder)  # 4, 5
        recorder.to_client(update("s", "state_update", state="idle"))  # 6
        _chunk(recorder)  # 7: of no turn
    assert _runs(recorder) == [(2, 2), (3, 3), (4, 5), (6, 6), (7, 7)]


def test_an_event_ends_a_run(recorder: LogWriter) -> None:
    """The store does not join message chunks to one run if an event is between them."""
    _chunk(recorder)
    _chunk(recorder)
    recorder.event(capture_log.NOTE, capture_log.TO_CLIENT, action="stalled", since=0)
    _chunk(recorder)
    _chunk(recorder)
    recorder.abandon()
    assert _runs(recorder) == [(2, 2), (3, 4), (6, 7)]


@each_case("path", RECORDINGS, ids=lambda path: path.stem)
@each_case("pause_ns", [-1, 0, FOREVER])
def test_each_frame_is_in_one_run(path: Path, pause_ns: int) -> None:
    """When the store joins message chunks to runs, each frame is in exactly one run."""
    with RecordingReader(path) as reader:
        frames = {frame["seq"]: frame for frame in reader.frames()}
        runs: list[FrameRun] = list(reader.runs(pause_ns))
    assert [seq for run in runs for seq in range(run.seq, run.last_seq + 1)] == list(frames)
    for run in runs:
        frame = frames[run.seq]
        assert (run.t_ns, run.stream, run.kind) == (frame["t_ns"], frame["stream"], frame["kind"])
        assert run.raw == (None if run.kind == "stderr" else frame["raw"])
        assert run.last_ns == frames[run.last_seq]["t_ns"]
        assert pause_ns >= 0 or run.frames == 1


@pytest.mark.parametrize(
    ("spoilt", "reason"),
    [
        ("kind = 99 WHERE seq = 3", "unknown code"),
        ("t_ns = 'soon' WHERE seq = 3", "no time"),
        ("t_ns = 'soon' WHERE seq = 5", "no time"),  # the last one of the run
    ],
)
def test_a_damaged_row_of_a_run_is_damage(recorder: LogWriter, spoilt: str, reason: str) -> None:
    """If a message chunk's row has an invalid kind or time, its recording is refused as damaged."""
    for _ in range(3):
        _chunk(recorder)
    recorder.close()
    recorder.finish()
    alter(recorder.path, f"UPDATE frame_rows SET {spoilt}")
    with (
        RecordingReader(recorder.path) as reader,
        pytest.raises(DamagedRecording, match=reason),
    ):
        list(reader.runs(5 * MS))
