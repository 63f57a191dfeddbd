"""What the fault engine foresees comes true: to look ahead changes nothing, whatever is said."""

from __future__ import annotations

import json
from itertools import groupby
from typing import TYPE_CHECKING

from hypothesis import event, given, settings
from hypothesis import strategies as st

from acp_proxy.faults.engine import FaultEngine
from acp_proxy.faults.outputs import Deliver, Fired
from acp_proxy.faults.reach import reached
from acp_proxy.protocol.peers import Direction
from acp_proxy.runtime.backlog import Backlog
from acp_proxy.runtime.line_cutter import LineCutter
from tests.fault_book import plan_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from acp_proxy.faults.outputs import Output

MS = 10**6
Chunk = tuple[Direction, bytes, int]
"""Where it goes, the bytes, and when they were read."""

KINDS = [
    "noop", "drop", "duplicate", "reorder", "stall", "close", "error-reply",
    "latency latency_ms=5", "latency latency_ms=5 keep_order=false", "slice bytes=9",
    "truncate keep_bytes=4 newline=false", "reply mode=late after_cancel=true latency_ms=0",
    "reply mode=orphan", "limit-data bytes=300",
    """stray-stdout text='{"id":1,"method":"_x/y"}'""",
]  # fmt: skip
FILTERS = [
    "", "method:_x/y", "method:_x/*", "method:*/y", "session:s", "session:t dir:to-client",
    "session:ü", "session:s method:_x/y", "method:_x/y or session:t", "not method:_x/y",
    "method:session/prompt dir:to-client", "method:_x/y or turn:>0", "method:_x/y session:[st]",
    "call:s or text:prompt",
]  # fmt: skip
TRIGGERS = ["", "", "after=2", "after=5", "window=3ms..7ms", "times=1", "every=2"]

rules = st.builds(
    lambda kind, where, trigger: f"{kind} where='{where}' {trigger}",
    st.sampled_from(KINDS),
    st.sampled_from(FILTERS),
    st.sampled_from(TRIGGERS),
)

messages = st.one_of(
    st.builds(
        lambda rpc_id, method, session: {
            **({} if rpc_id is None else {"id": rpc_id}),
            "method": method,
            "params": {"sessionId": session, "update": {"toolCallId": session}},
        },
        st.sampled_from([1, 2, None]),
        st.sampled_from(["_x/y", "session/prompt", "session/cancel", "_x/yy"]),
        st.sampled_from(["s", "t", "ü", None]),
    ),
    st.builds(
        lambda rpc_id, what: {"id": rpc_id, what: {"sessionId": "t"}},
        st.sampled_from([1, 2]),
        st.sampled_from(["result", "error"]),
    ),
)
"""Few ids and words, so that much belongs together."""


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """A message, some of its characters written as escapes that nobody needs."""
    line = json.dumps(draw(messages), ensure_ascii=draw(st.booleans())).encode() + b"\n"
    for plain in draw(st.sets(st.sampled_from([b"/", b"x", b"s", b"t"]))):
        written = draw(st.sampled_from([b"\\u%04x", b"\\u%04X"])) % plain[0]
        line = line.replace(plain, b"\\/" if plain == b"/" and draw(st.booleans()) else written)
    return draw(st.sampled_from([line, line, line, line[:-2] + b"\n"]))


@st.composite
def chunks(draw: st.DrawFn) -> list[Chunk]:
    """What two peers say, as their pumps may read it, a millisecond apart."""
    found: list[Chunk] = []
    for at in range(draw(st.integers(1, 12))):
        direction = draw(st.sampled_from(Direction))
        data = b"".join(draw(st.lists(lines(), min_size=1, max_size=2)))
        cut = draw(st.sampled_from([len(data), len(data), len(data) // 2]))
        found.append((direction, data[:cut], at * MS))
        if data[cut:]:
            found.append((direction, data[cut:], at * MS))
    return found


def carefully(engine: FaultEngine, said: Iterable[Chunk]) -> list[Output]:
    """The engine is given each line before it goes out."""
    cutters = {direction: LineCutter() for direction in Direction}
    outputs: list[Output] = []
    for direction, chunk, at in said:
        for cut in cutters[direction].feed(chunk):
            outputs += engine.receive(direction, cut.raw, cut.newline, at)
    return outputs


def ahead(engine: FaultEngine, said: Iterable[Chunk], lazily: int) -> list[Output]:
    """What can go first goes first, and the engine is given it when that is needed."""
    cutters = {direction: LineCutter() for direction in Direction}
    backlog = Backlog(
        cutters,
        engine.foresees,
        lambda direction, cut, at: engine.observe(direction, cut.raw, cut.newline, at),
    )
    touched = reached(engine.plan)
    outputs: list[Output] = []
    for number, (direction, chunk, at) in enumerate(said):
        if direction not in touched:
            backlog.overhear(direction, chunk, at)
            outputs.append(Deliver(direction, chunk, at))
        elif backlog.passes_ahead(direction, chunk, at):
            event("passes ahead")
            outputs.append(Deliver(direction, chunk, at))
        else:
            backlog.catch_up()
            for cut in cutters[direction].feed(chunk):
                outputs += engine.receive(direction, cut.raw, cut.newline, at)
        if number % lazily == 0:
            backlog.catch_up(1)
    backlog.catch_up()
    return outputs


def arrived(outputs: Iterable[Output], direction: Direction) -> list[tuple[int, bytes]]:
    """What arrives in a direction, moment by moment."""
    sent = [o for o in outputs if isinstance(o, Deliver) and o.direction is direction]
    in_order = groupby(sorted(sent, key=lambda o: o.due), key=lambda o: o.due)
    return [(due, b"".join(one.data for one in some)) for due, some in in_order]


@given(
    plan=st.lists(rules, min_size=1, max_size=2, unique=True),
    said=chunks(),
    lazily=st.sampled_from([1, 3, 100]),
)
@settings(max_examples=100)
def test_to_look_ahead_changes_nothing(plan: list[str], said: list[Chunk], lazily: int) -> None:
    """The same arrives at the same moments, and the same rules fire at the same frames."""
    one, other = (FaultEngine(plan_of(*plan), 1, 0) for _ in range(2))
    expected, found = carefully(one, said), ahead(other, said, lazily)
    touched = reached(one.plan)
    for direction in touched:
        assert arrived(found, direction) == arrived(expected, direction)
    fired = [o for o in expected if isinstance(o, Fired)]
    assert [o for o in found if isinstance(o, Fired)] == fired
    besides = [o for o in expected if not isinstance(o, Deliver | Fired)]
    assert [o for o in found if not isinstance(o, Deliver | Fired)] == besides
    assert other.fired == one.fired
