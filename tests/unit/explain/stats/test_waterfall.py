"""The waterfall of `stats` shows each step of a turn with its start and duration."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from acp_proxy.explain.stats.statistics import gather, waterfall, with_texts
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

    from acp_proxy.explain.stats.waterfall import TurnWaterfall

SECOND = 1000 * MS


def prompt(number: int = 1, session: str = "s") -> dict[str, Any]:
    """Returns a prompt as a line."""
    return request(number, "session/prompt", sessionId=session, prompt=[text("go")])


def chunk(words: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
    """Returns a piece of a message as a line."""
    return update("s", kind, content=text(words))


def call(name: str, **fields: Any) -> dict[str, Any]:
    """An update of a tool call."""
    return update("s", "tool_call_update", toolCallId=name, **fields)


@contextmanager
def turn_of(recorder: LogWriter) -> Iterator[LogWriter]:
    """Records the prompt of a turn, frame 2, and on exit the answer to the prompt."""
    recorder.to_agent(prompt())
    yield recorder
    recorder.to_client(result(1, stopReason="end_turn"))


def laid_out(recorder: LogWriter, turn: int = 1, most: int | None = None) -> TurnWaterfall:
    """Ends a recording, and returns the waterfall of one of its turns."""
    recorder.abandon()
    with RecordingReader(recorder.path) as reader:
        wanted = [t for t in gather(reader).turns if t.id == turn]
        (told,) = with_texts(reader, wanted)
        return waterfall(reader, told, most)


def shown(fall: TurnWaterfall) -> list[str]:
    """Returns each step of a waterfall as words, with times in milliseconds."""
    lines = []
    for step in fall.steps:
        marks = [step.method, step.waits_for, step.status, step.answer and f"-> {step.answer}"]
        marks += [f"x{step.frames}" if step.frames > 1 else None]
        marks += ["open" if step.open else None, "failed" if step.failed else None]
        lines.append(
            f"{step.start_ns // MS}+{step.duration_ns // MS} {step.kind} {step.title}".rstrip()
            + "".join(f" | {mark}" for mark in marks if mark)
        )
    return lines


def test_everything_in_a_turn_is_a_step(tmp_path: Path) -> None:
    """The waterfall of `stats` has a line for every step of a turn."""
    with turn_of(LogWriter(tmp_path / "x.db")) as recorder:
        recorder.t_ns += 3 * SECOND
        recorder.to_client(chunk("hm ", "agent_thought_chunk"), chunk("hm", "agent_thought_chunk"))
        recorder.to_client(chunk("Let "), chunk("me"), call("c", title="Run", status="pending"))
        recorder.to_client(
            request(
                0,
                "session/request_permission",
                sessionId="s",
                toolCall={"title": "Run"},
                options=[],
            )
        )
        recorder.t_ns += 60 * SECOND
        recorder.to_agent(result(0, outcome={"outcome": "selected", "optionId": "y"}))
        recorder.to_client(request(1, "terminal/wait_for_exit", sessionId="s", terminalId="t"))
        recorder.to_client(request(2, "fs/read_text_file", sessionId="s", path="/a"))
        recorder.to_agent(error(2, -32002, "none"))
        recorder.t_ns += 5 * SECOND
        recorder.to_agent(result(1, exitCode=1))
        recorder.t_ns += 4 * SECOND
        recorder.to_client(call("c", status="failed"), chunk("No."))
    fall = laid_out(recorder)
    assert shown(fall) == [
        "0+0 prompt go",
        "0+3001 silence",
        "3001+1 thought hm hm | x2",
        "3003+1 message Let me | x2",
        "3005+69007 tool_call Run | failed | x2 | failed",
        "3006+60001 request Run | session/request_permission | person | result | -> selected y",
        "63008+5003 request t | terminal/wait_for_exit | terminals | result",
        "63009+1 request /a | fs/read_text_file | files | error | -> -32002 none | failed",
        "72013+0 message No.",
        "72014+0 end end_turn",
    ]
    assert fall.duration_ns == 72014 * MS
    assert fall.left_out == 0


def test_what_is_open_lasts_until_the_end(tmp_path: Path) -> None:
    """The waterfall of `stats` draws an unfinished tool call up to the recording's end."""
    recorder = LogWriter(tmp_path / "x.db")
    recorder.to_agent(prompt())
    recorder.to_client(call("c", title="Run", status="in_progress"))
    recorder.to_client(
        request(0, "session/request_permission", sessionId="s", toolCall={"title": "Run"})
    )
    recorder.t_ns += 60 * SECOND
    recorder.stderr("bye")
    assert shown(laid_out(recorder)) == [
        "0+0 prompt go",
        "1+60002 tool_call Run | in_progress | open",
        "2+60001 request Run | session/request_permission | person | unanswered | open",
    ]


def test_a_pause_ends_a_run_of_chunks(tmp_path: Path) -> None:
    """In the waterfall of `stats`, a silence of two seconds ends a line of joined chunks."""
    with turn_of(LogWriter(tmp_path / "x.db")) as recorder:
        recorder.to_client(chunk("a"), update("s", "usage_update", used=1, size=2), chunk("b"))
        recorder.t_ns += 2 * SECOND
        recorder.to_client(chunk("c"))
    assert shown(laid_out(recorder)) == [
        "0+0 prompt go",
        "1+2 message ab | x2",
        "3+2001 silence",
        "2004+0 message c",
        "2005+0 end end_turn",
    ]


def test_other_sessions_are_not_part_of_it(tmp_path: Path) -> None:
    """The waterfall of `stats` shows only steps of its own turn, even if two turns are open."""
    with turn_of(LogWriter(tmp_path / "x.db")) as recorder:
        recorder.to_agent(prompt(2, "t"))
        recorder.to_client(request(0, "_x/y"))
        recorder.to_agent(result(0))
        recorder.to_client(update("t", "agent_message_chunk", content=text("other")), chunk("mine"))
    assert [line for line in shown(laid_out(recorder)) if "silence" not in line] == [
        "0+0 prompt go",
        "5+0 message mine",
        "6+0 end end_turn",
    ]


def test_a_nameless_request_is_that_of_the_only_turn(tmp_path: Path) -> None:
    """If one turn is open, its waterfall in `stats` includes a request that names no session."""
    with turn_of(LogWriter(tmp_path / "x.db")) as recorder:
        recorder.to_client(request(0, "_x/y", why="z"))
        recorder.to_agent(result(0))
    assert "1+1 request why=z | _x/y | other | result" in shown(laid_out(recorder))


def test_the_draft_has_the_same_steps(tmp_path: Path) -> None:
    """The waterfall of `stats` shows the steps of a turn of the 1.0 draft as in v1."""
    recorder = LogWriter(tmp_path / "x.db", dialect="draft-1.0")
    recorder.to_agent(request(1, "session/prompt", sessionId="s", content=[text("go")]))
    for kind, data in (
        ("thought_message_chunk", {"content": "hm"}),
        ("tool_call", {"id": "c", "tool": "run", "status": "denied"}),
    ):
        recorder.to_client(notification("session/update", sessionId="s", type=kind, data=data))
    recorder.to_client(error(1, -32009, "timeout"))
    lines = [line for line in shown(laid_out(recorder)) if "silence" not in line]
    assert lines == [
        "0+0 prompt go",
        "1+0 thought hm",
        "2+0 tool_call run | denied | failed",
        "3+0 end -32009 timeout | failed",
    ]


@pytest.mark.parametrize("most", [0, 1, 2])
def test_the_longest_steps_are_kept(tmp_path: Path, most: int) -> None:
    """If a waterfall is too long, `stats` leaves out the shortest parts of the turn."""
    with turn_of(LogWriter(tmp_path / "x.db")) as recorder:
        for number in range(5):
            recorder.to_client(request(number, "fs/read_text_file", sessionId="s", path="/a"))
            recorder.t_ns += number * 10 * MS
            recorder.to_agent(result(number, content=""))
    every = laid_out(recorder)
    fall = laid_out(recorder, most=most)
    kinds = [step.kind for step in fall.steps]
    assert kinds == ["prompt", *["request"] * most, "end"]
    assert len(fall.steps) + fall.left_out == len(every.steps)
    kept = [step.duration_ns for step in fall.steps[1:-1]]
    assert kept == sorted(step.duration_ns for step in every.steps)[len(every.steps) - most :]


def test_a_silence_while_a_call_runs_is_no_step(tmp_path: Path) -> None:
    """The waterfall of `stats` shows no silence while a tool call runs."""
    with turn_of(LogWriter(tmp_path / "x.db")) as recorder:
        for name in ("a", "b"):
            recorder.t_ns += SECOND
            recorder.to_client(call(name, title=name, status="pending"))
            recorder.t_ns += SECOND
            recorder.to_client(call(name, status="completed"))
        recorder.t_ns += SECOND
    kinds = [step.kind for step in laid_out(recorder).steps[1:-1]]
    assert kinds == ["silence", "tool_call"] * 2 + ["silence"]


def test_nothing_in_a_step_commands_the_terminal(tmp_path: Path) -> None:
    """The waterfall of `stats` escapes control characters."""
    evil = "\x1b[2J\u202e\ud83d"
    with turn_of(LogWriter(tmp_path / "x.db")) as recorder:
        for kind in ("agent_message_chunk", "tool_call"):
            raw = update("s", kind, content=text(evil), toolCallId=evil, title=evil, status=evil)
            recorder.to_client(_escaped(raw))
        recorder.to_client(
            _escaped(request(0, "session/request_permission", sessionId="s", x=evil))
        )
        recorder.to_agent(_escaped(error(0, 1, evil)))
    for step in laid_out(recorder).steps:
        assert step.title.isprintable()
        assert (step.answer or "").isprintable()
        assert (step.status or "").isprintable()


def _escaped(message: Any) -> bytes:
    """Returns a message as a line of ASCII, in which half of a surrogate pair can be escaped."""
    return json.dumps(message).encode() + b"\n"
