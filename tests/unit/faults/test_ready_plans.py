"""Each ready fault plan has the effects on a real recording that its description promises."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from attrs import define, field, frozen

from acp_proxy.faults.fault import (
    ExitEffect,
    Fired,
    RuleEffect,
    ScheduledWrite,
    SignalEffect,
    StderrEffect,
)
from acp_proxy.faults.fault_engine import FaultEngine
from acp_proxy.faults.plan import load_plan, ready_plans
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from acp_proxy.faults.fault import Output
    from acp_proxy.faults.plan import Plan

TOUR = Path(__file__).parents[3] / "recordings" / "tour.db"
CLIENT, AGENT = Direction.TO_CLIENT, Direction.TO_AGENT


@frozen
class PassedFrame:
    """A frame of a recording, as the fault engine receives it."""

    seq: int
    direction: Direction
    t_ns: int
    raw: bytes
    newline: bytes


@define
class Hit:
    """The effects of a plan's rules on a frame."""

    frame: PassedFrame
    rules: list[str] = field(factory=list)
    pieces: list[ScheduledWrite] = field(factory=list)
    injected: list[bytes] = field(factory=list)
    effects: list[object] = field(factory=list)

    @property
    def seq(self) -> int:
        """The number of the frame."""
        return self.frame.seq

    @property
    def delivered(self) -> bytes | None:
        """The bytes that arrive in place of the frame; None if it never arrives."""
        return b"".join(piece.data for piece in self.pieces) if self.pieces else None

    @property
    def late_ms(self) -> float:
        """How much later than in the recording the last byte arrives."""
        return (max(piece.due for piece in self.pieces) - self.frame.t_ns) / 1e6

    @property
    def is_changed(self) -> bool:
        """Whether the rules changed, delayed or dropped the frame, or had another effect."""
        whole = self.delivered == self.frame.raw + self.frame.newline
        return not whole or self.late_ms > 0 or bool(self.injected or self.effects)


class AppliedPlan:
    """Applies a fault plan to recorded frames, without peers that would react."""

    def __init__(self, plan: Plan, frames: Iterable[PassedFrame]) -> None:
        engine = FaultEngine(plan, 1, 0)
        self._sent: list[ScheduledWrite] = []
        self._hits: dict[int, Hit] = {}
        last = 0
        for number, frame in enumerate(frames, 1):
            self._hits[number] = Hit(frame)
            last = frame.t_ns
            self._note(number, engine.receive(frame.direction, frame.raw, frame.newline, last))
        for direction in Direction:
            self._note(0, engine.end(direction, last))
        self.fired = engine.fired

    @property
    def hits(self) -> list[Hit]:
        """The frames that rules have changed."""
        return [hit for hit in self._hits.values() if hit.rules]

    def delivered(self, direction: Direction) -> bytes:
        """All bytes that a direction carries, in order."""
        sent = [item for item in self._sent if item.direction is direction]
        return b"".join(item.data for item in sorted(sent, key=lambda item: item.due))

    def _note(self, number: int, outputs: Iterable[Output]) -> None:
        for output in outputs:
            match output:
                case Fired(received=None):
                    if output.delivered is not None:
                        self._hits[output.frame].injected.append(output.delivered)
                case Fired():
                    self._hits[output.frame].rules.append(output.rule)
                case ScheduledWrite():
                    self._sent.append(output)
                    if not output.is_injected:
                        self._hits[output.frame].pieces.append(output)
                case RuleEffect(effect=SignalEffect() | ExitEffect() | StderrEffect()):
                    self._hits[number].effects.append(output.effect)


@functools.cache
def frames() -> tuple[PassedFrame, ...]:
    """Returns the frames of the recording `tour`."""
    with RecordingReader(TOUR) as reader:
        return tuple(
            PassedFrame(
                row["seq"],
                Direction(row["stream"]),
                row["t_ns"],
                bytes(row["raw"]),
                row["newline"].encode(),
            )
            for row in reader.frames()
        )


def original(direction: Direction) -> bytes:
    """Returns all bytes that one peer sent in the recording `tour`."""
    return b"".join(f.raw + f.newline for f in frames() if f.direction is direction)


def applied(name: str) -> AppliedPlan:
    """Applies a ready plan to the recording `tour`."""
    return AppliedPlan(load_plan(f"@{name}"), frames())


def seqs(run: AppliedPlan) -> list[int]:
    """Returns the numbers of the frames that a plan has changed."""
    return [hit.seq for hit in run.hits]


@each_case("name", ready_plans())
def test_a_ready_plan_is_described(name: str) -> None:
    """Each fault plan that acp-proxy ships has a sentence that describes the plan."""
    plan = load_plan(f"@{name}")
    text = ready_plans()[name].read_text(encoding="utf-8")
    assert plan.about
    assert text.startswith("# ")
    assert all(rule.is_named for rule in plan.rules)
    assert all(rule.trigger.where for rule in plan.rules)


@each_case("name", ready_plans())
def test_every_rule_of_a_ready_plan_fires(name: str) -> None:
    """Every rule of a ready fault plan fires at least once on the recording `tour`."""
    run = applied(name)
    if "# Not on the tour: " in ready_plans()[name].read_text(encoding="utf-8"):
        assert not any(run.fired.values())
    else:
        assert all(run.fired.values()), run.fired
        assert any(hit.is_changed for hit in run.hits)


LOST = {
    "hung-permission": [18],
    "lost-permission-request": [17],
    "unsettled-prompt": [34],
    "lost-reply": [5],
    "error-on-prompt": [6],
    "auth-required": [4],
    "silent-start": [f.seq for f in frames() if f.direction is CLIENT],
    "agent-hangs": [f.seq for f in frames() if f.direction is CLIENT and f.seq >= 10],
    "stdout-closed": [f.seq for f in frames() if f.direction is CLIENT and f.seq >= 10],
    "crash-at-start": [f.seq for f in frames() if f.seq >= 3],
    "quiet-exit": [f.seq for f in frames() if f.seq >= 10],
}


@each_case("name", LOST)
def test_lost_frames_never_arrive(name: str) -> None:
    """A ready fault plan that drops frames drops the expected frames of `tour`, and no others."""
    run = applied(name)
    assert [hit.seq for hit in run.hits if hit.delivered is None] == LOST[name] == seqs(run)


CHANGED: dict[str, Callable[[bytes], bool]] = {
    "bad-utf8": lambda line: not _is_utf8(line),
    "garbage-line": lambda line: not _is_json(line),
    "huge-frame": lambda line: len(line) == 200_000 and _is_json(line),
    "giant-frame": lambda line: len(line) == 12_000_000 and _is_json(line),
    "unknown-update": lambda line: b'"hologram_chunk"' in line and _is_json(line),
    "unknown-session": lambda line: b'"no-such-session"' in line and _is_json(line),
    "unknown-request": lambda line: b'"fs/read_hologram"' in line and _is_json(line),
    "newer-protocol": lambda line: bool(json.loads(line)["result"]["protocolVersion"] == 99),
    "wrong-reply-id": lambda line: bool(json.loads(line)["id"] >= 10**9),
    "windows-newlines": lambda line: line.endswith(b"\r\n"),
    "truncated-frame": lambda line: len(line) == 80 and not line.endswith(b"\n"),
}


@each_case("name", CHANGED)
def test_changed_frames_arrive_changed(name: str) -> None:
    """A ready fault plan makes the change of its name: with `bad-utf8`, frames are not UTF-8."""
    run = applied(name)
    assert run.hits
    for hit in run.hits:
        assert hit.delivered is not None
        assert CHANGED[name](hit.delivered), hit
    assert run.delivered(AGENT) == original(AGENT)


SLOW = {"slow-agent": 300, "slow-handshake": 5000, "slow-pipe": 1000, "split-utf8": 100}


@pytest.mark.parametrize("name", SLOW)
def test_slow_frames_arrive_whole_and_in_order(name: str) -> None:
    """Each ready fault plan that slows frames delivers all of them late, whole and in order."""
    run = applied(name)
    assert run.delivered(CLIENT) == original(CLIENT)
    assert max(hit.late_ms for hit in run.hits) >= SLOW[name]


def test_late_updates_arrive_after_the_end_of_their_turn() -> None:
    """The ready fault plan `late-updates` sends updates after the answer that ends the turn."""
    run = applied("late-updates")
    delivered = run.delivered(CLIENT)
    assert sorted(delivered.splitlines()) == sorted(original(CLIENT).splitlines())
    end = delivered.index(b'"stopReason"')
    assert end < delivered.rindex(b'"agent_message_chunk"', 0, len(delivered))
    assert b"call-1" in delivered[end:]


@pytest.mark.parametrize(
    ("name", "stray"),
    [
        ("stray-stdout", [b"[agent] loading 12 tools...", b"DEBUG request took 153 ms"]),
        ("json-log-line", [b'{"level":"info","id":1', b"null"]),
        ("terminal-escapes", [b"\x1b]0;agent\x07"]),
    ],
)
def test_stray_lines_are_added_to_the_output(name: str, stray: list[bytes]) -> None:
    """A ready fault plan such as `stray-stdout` adds lines, and delivers all frames unchanged."""
    lines = applied(name).delivered(CLIENT).splitlines()
    said = original(CLIENT).splitlines()
    assert [line for line in lines if line in said] == said
    for start in stray:
        assert any(line.startswith(start) for line in lines)


@pytest.mark.parametrize("name", ["duplicate-reply", "duplicate-updates", "orphan-reply"])
def test_doubled_frames_follow_each_other(name: str) -> None:
    """A ready fault plan such as `duplicate-reply` sends a copy directly after the frame."""
    run = applied(name)
    for hit in run.hits:
        (copy,) = hit.injected
        if name == "orphan-reply":
            assert json.loads(copy)["id"] >= 10**9
        else:
            assert copy == hit.delivered


def test_an_error_is_answered_to_a_prompt() -> None:
    """The ready fault plans `error-on-prompt` and `auth-required` answer a prompt by an error."""
    (hit,) = applied("error-on-prompt").hits
    assert json.loads(hit.injected[0])["error"]["data"] == {"details": "429 too many requests"}
    (hit,) = applied("auth-required").hits
    assert json.loads(hit.injected[0])["error"]["code"] == -32000


DRAFT_SAID: tuple[tuple[Direction, str | None, dict[str, Any]], ...] = (
    (AGENT, "initialize", {"id": 0, "params": {"protocolVersion": 1, "clientInfo": {"name": "c"},
                                               "capabilities": {}}}),
    (CLIENT, None, {"id": 0, "result": {"protocolVersion": 1, "capabilities": {}}}),
    (AGENT, "session/new", {"id": 1, "params": {"workingDirectory": "/w"}}),
    *((CLIENT, "session/update", {"params": {"sessionId": "s", "type": "agent_message_chunk",
                                             "data": {"content": "hi"}}}) for _ in range(3)),
)  # fmt: skip
"""A conversation in the 1.0 draft."""


def in_draft(name: str, said: Any = None) -> AppliedPlan:
    """Applies a ready plan to a conversation in the 1.0 draft."""
    passed = []
    for seq, (direction, method, rest) in enumerate(said or DRAFT_SAID, 1):
        message = {"jsonrpc": "2.0", **({"method": method} if method else {}), **rest}
        raw = json.dumps(message).encode()
        passed.append(PassedFrame(seq, direction, seq * 10**6, raw, b"\n"))
    return AppliedPlan(load_plan(f"@{name}"), passed)


def test_a_needed_login_has_the_code_of_its_dialect() -> None:
    """The ready fault plan `auth-required` uses the error code of the recording's dialect."""
    (hit,) = in_draft("auth-required").hits
    assert json.loads(hit.injected[0])["error"]["code"] == -32001


def test_a_client_of_v1_may_write_initialize_as_the_draft_does() -> None:
    """In v1, `auth-required` uses v1's error code even for an `initialize` like the draft's."""
    (initialize, *_), cwd = DRAFT_SAID, {"id": 1, "params": {"cwd": "/p", "mcpServers": []}}
    answer = (CLIENT, None, {"id": 0, "result": {"protocolVersion": 1}})
    said = [initialize, answer, (AGENT, "session/new", cwd)]
    (hit,) = in_draft("auth-required", said).hits
    assert json.loads(hit.injected[0])["error"]["code"] == -32000


def test_an_unknown_update_comes_in_the_draft_too() -> None:
    """In the 1.0 draft, the fault plan `unknown-update` changes the kind of an update."""
    (hit,) = in_draft("unknown-update").hits
    assert hit.delivered is not None
    params = json.loads(hit.delivered)["params"]
    assert params == {"sessionId": "s", "type": "hologram_chunk", "data": {"content": "hi"}}


def test_a_crash_leaves_half_a_frame() -> None:
    """The ready fault plan `crash-mid-frame` ends the agent's output within a frame."""
    run = applied("crash-mid-frame")
    first = run.hits[0]
    assert first.seq == 10
    assert len(first.delivered or b"") == 60
    assert first.effects == [ExitEffect(139)]
    assert run.delivered(CLIENT).endswith(first.delivered or b"?")
    assert all(hit.delivered is None for hit in run.hits[1:])


def test_a_late_reply_is_the_last_of_all() -> None:
    """The ready fault plan `late-reply` delivers a reply after all other frames of `tour`."""
    run = applied("late-reply")
    assert seqs(run) == [34]
    assert run.delivered(CLIENT).endswith(run.hits[0].delivered or b"?")


def test_side_effects_leave_the_prompt_unchanged() -> None:
    """The ready fault plans `agent-killed` and `noisy-stderr` deliver the prompt unchanged."""
    for name in ("agent-killed", "noisy-stderr"):
        (hit,) = applied(name).hits
        assert hit.seq == 6
        assert hit.delivered is not None
        match hit.effects:
            case [SignalEffect(signum)]:
                assert (name, signum) == ("agent-killed", 9)
            case [StderrEffect(data)]:
                assert (name, len(data)) == ("noisy-stderr", 978_894)
            case other:
                pytest.fail(f"expected one effect, got {other}")


def test_a_flaky_agent_is_the_same_each_time() -> None:
    """The faults of the ready fault plan `flaky-agent` are the same in every run."""
    hits = applied("flaky-agent").hits
    assert hits == applied("flaky-agent").hits
    arrived = [hit for hit in hits if hit.delivered is not None]
    assert len(arrived) < len(hits)
    assert any(hit.late_ms > 0 for hit in arrived)
    assert any(hit.injected for hit in hits)
    assert any(hit.delivered != hit.frame.raw + hit.frame.newline for hit in arrived)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
