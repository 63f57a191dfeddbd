"""The schedule of a faulted connection orders bytes by due time, and side effects after them."""

from __future__ import annotations

import signal

import pytest

from acp_proxy.base.limits import WAITING_BYTES
from acp_proxy.faults import delivery_schedule as schedule_module
from acp_proxy.faults.delivery_schedule import DeliverySchedule
from acp_proxy.faults.fault import (
    CloseEffect,
    DirectionEnd,
    ExitEffect,
    Fired,
    RuleEffect,
    ScheduledWrite,
    SignalEffect,
    StallEffect,
    StderrEffect,
)
from acp_proxy.protocol.jsonrpc import Direction, Stream

CLIENT, AGENT, STDERR = Stream.TO_CLIENT, Stream.TO_AGENT, Stream.STDERR
KILL = RuleEffect("r", "kill", SignalEffect(signal.SIGKILL))
EXIT = RuleEffect("r", "exit", ExitEffect(3))


def write(data: bytes, due: int = 0, direction: Direction = Direction.TO_CLIENT) -> ScheduledWrite:
    """Returns a write that is not joined with other writes."""
    return ScheduledWrite(direction, data, due)


def plain(data: bytes, due: int = 0) -> ScheduledWrite:
    """Returns the write of a frame without faults."""
    return ScheduledWrite(Direction.TO_CLIENT, data, due, is_joinable=True)


def added(*outputs: ScheduledWrite | RuleEffect | DirectionEnd) -> DeliverySchedule:
    """Returns a schedule with outputs of the engine, all added at time 0."""
    schedule = DeliverySchedule()
    for output in outputs:
        schedule.add(output, 0)
    return schedule


def written(schedule: DeliverySchedule, now: int, outlet: Stream = CLIENT) -> list[bytes]:
    """Returns all writes that are due at a time; each is finished before the next begins."""
    result = []
    while (data := schedule.outboxes[outlet].take(now)) is not None:
        result.append(data)
        schedule.outboxes[outlet].gone()
    return result


def test_bytes_go_out_when_they_are_due() -> None:
    """Bytes that faults delay are sent in the order of their due times."""
    schedule = added(write(b"c", 3), write(b"a", 1), write(b"b", 1), write(b"d", 3))
    assert written(schedule, 0) == []
    assert schedule.outboxes[CLIENT].due_at == 1
    assert written(schedule, 1) == [b"a", b"b"]
    assert schedule.outboxes[CLIENT].due_at == 3
    assert written(schedule, 2) == []
    assert written(schedule, 3) == [b"c", b"d"]
    assert schedule.outboxes[CLIENT].due_at is None


def test_outlets_do_not_wait_for_each_other() -> None:
    """If a fault delays bytes to the client, bytes to the agent are still sent at once."""
    schedule = DeliverySchedule()
    assert schedule.add(write(b"late", 9), 0) is CLIENT
    assert schedule.add(write(b"a", 1, Direction.TO_AGENT), 0) is AGENT
    assert written(schedule, 1, AGENT) == [b"a"]
    assert schedule.outboxes[AGENT].due_at is None
    assert schedule.outboxes[CLIENT].due_at == 9


def test_lines_on_stderr_are_due_at_once() -> None:
    """Lines that a fault writes to stderr are written immediately."""
    schedule = added(write(b"late", 9))
    flood = RuleEffect("r", "stderr-flood", StderrEffect(b"lines"))
    assert schedule.add(flood, 4) is STDERR
    assert schedule.outboxes[STDERR].due_at == 4
    assert written(schedule, 4, STDERR) == [b"lines"]
    assert written(schedule, 4) == []


def test_what_was_taken_is_written_before_more_is_taken() -> None:
    """Bytes in a schedule of faults are taken for a write only after the previous write ended."""
    schedule = added(write(b"a"), write(b"b"))
    assert schedule.outboxes[CLIENT].take(0) == b"a"
    assert schedule.outboxes[CLIENT].take(0) is None
    assert schedule.outboxes[CLIENT].due_at is None
    assert schedule.outboxes[CLIENT].size == 2
    schedule.outboxes[CLIENT].gone()
    assert schedule.outboxes[CLIENT].size == 1
    assert schedule.outboxes[CLIENT].take(0) == b"b"


def test_only_plain_frames_are_joined() -> None:
    """Of the writes due at one time, only adjacent frames that no fault changed are joined."""
    schedule = added(
        plain(b"a"), plain(b"b"), write(b"c"), plain(b"d"), plain(b"e"), plain(b"late", 5)
    )
    assert written(schedule, 0) == [b"ab", b"c", b"de"]
    assert written(schedule, 5) == [b"late"]


def test_what_is_joined_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Frames that no fault changed are written together only up to a size limit."""
    monkeypatch.setattr(schedule_module, "_MOST_JOINED", 4)
    schedule = added(plain(b"123"), plain(b"456"), plain(b"7"))
    assert written(schedule, 0) == [b"123456", b"7"]
    assert schedule.outboxes[CLIENT].size == 0


def test_an_outlet_has_room_for_a_megabyte_or_one_frame() -> None:
    """If a megabyte of faulted output waits to be written, the recorder stops reading."""
    schedule = added(write(b"x" * (WAITING_BYTES - 1)))
    assert schedule.outboxes[CLIENT].has_room
    schedule.add(write(b"y" * WAITING_BYTES), 0)
    assert not schedule.outboxes[CLIENT].has_room
    assert schedule.outboxes[AGENT].has_room
    schedule.outboxes[CLIENT].take(0)
    assert not schedule.outboxes[CLIENT].has_room
    schedule.outboxes[CLIENT].gone()
    assert not schedule.outboxes[CLIENT].has_room
    written(schedule, 0)
    assert schedule.outboxes[CLIENT].has_room
    assert WAITING_BYTES == 1 << 20


# Side effects


def test_a_side_effect_waits_for_what_was_added_before_it() -> None:
    """A fault kills the agent only after earlier bytes have been written."""
    schedule = added(
        write(b"a"),
        write(b"b", 7, Direction.TO_AGENT),
        KILL,
        write(b"c", 9),
    )
    assert schedule.take_effects(0) == []
    assert written(schedule, 0) == [b"a"]
    assert schedule.take_effects(0) == []
    assert schedule.outboxes[AGENT].take(7) == b"b"
    assert schedule.take_effects(7) == []
    schedule.outboxes[AGENT].gone()
    assert schedule.take_effects(7) == [KILL]
    assert schedule.take_effects(7) == []


def test_side_effects_keep_their_order() -> None:
    """Side effects of faults, such as a kill, come in order, each after the bytes before it."""
    schedule = added(KILL, write(b"late", 5), EXIT, KILL)
    waits = [schedule.has_effects]
    assert schedule.take_effects(0) == [KILL]
    written(schedule, 5)
    assert schedule.take_effects(5) == [EXIT, KILL]
    assert [*waits, schedule.has_effects] == [True, False]


def test_a_side_effect_can_have_a_moment() -> None:
    """A side effect of a fault that has a set time, such as a kill, happens at that time."""
    schedule = added(write(b"late", 50))
    assert schedule.effect_due_at() is None
    schedule.add_later(KILL, 8)
    schedule.add_later(EXIT, 6)
    assert schedule.effect_due_at() == 6
    assert schedule.take_effects(5) == []
    assert schedule.take_effects(6) == [EXIT]
    assert schedule.effect_due_at() == 8
    assert schedule.take_effects(9) == [KILL]
    assert schedule.effect_due_at() is None


def test_a_side_effect_without_a_moment_is_never_due() -> None:
    """A side effect of a fault without a set time waits for earlier bytes, not for a time."""
    assert added(write(b"a"), KILL).effect_due_at() is None


@pytest.mark.parametrize(
    "output",
    [
        Fired("r", "drop", Direction.TO_CLIENT, b"x", None),
        RuleEffect("r", "stall", StallEffect(Direction.TO_CLIENT)),
        RuleEffect("r", "close", CloseEffect(Direction.TO_CLIENT)),
    ],
)
def test_notes_and_stops_add_nothing(output: Fired | RuleEffect) -> None:
    """In the schedule of faults, reports, stalls and closed streams add no bytes to write."""
    schedule = DeliverySchedule()
    assert schedule.add(output, 0) is None
    assert schedule.take_effects(0) == []
    assert not any(
        schedule.outboxes[outlet].size or schedule.outboxes[outlet].is_ending for outlet in Stream
    )


# Ends


def test_an_outlet_ends_after_the_bytes_that_wait() -> None:
    """If a stream with faults ends, it is closed only after its delayed bytes were written."""
    schedule = added(write(b"a", 4), DirectionEnd(Direction.TO_CLIENT))
    assert schedule.outboxes[CLIENT].is_ending
    assert not schedule.outboxes[AGENT].is_ending
    assert not schedule.outboxes[CLIENT].has_ended
    written(schedule, 4)
    assert schedule.outboxes[CLIENT].has_ended
    assert not schedule.outboxes[AGENT].has_ended
    schedule.outboxes[CLIENT].close()
    assert not schedule.outboxes[CLIENT].has_ended
    assert schedule.outboxes[CLIENT].is_ending


def test_a_closed_outlet_loses_what_waits_and_what_comes() -> None:
    """If a fault closes a stream immediately, all its delayed bytes are lost."""
    schedule = added(write(b"ab"), write(b"cde", 5), KILL)
    assert schedule.outboxes[CLIENT].take(0) == b"ab"
    schedule.outboxes[CLIENT].close()
    assert schedule.outboxes[CLIENT].take_lost() == 3
    assert schedule.outboxes[CLIENT].take_lost() == 0
    assert schedule.outboxes[CLIENT].size == 2
    schedule.outboxes[CLIENT].gone()
    assert schedule.outboxes[CLIENT].size == 0
    assert schedule.add(write(b"f"), 0) is CLIENT
    assert schedule.outboxes[CLIENT].take(9) is None
    assert (schedule.outboxes[CLIENT].size, schedule.outboxes[CLIENT].take_lost()) == (0, 1)
    schedule.add(write(b"gh"), 0)
    schedule.add(write(b"i"), 0)
    assert schedule.outboxes[CLIENT].take_lost() == 3
    assert schedule.take_effects(0) == [KILL]
    assert schedule.outboxes[AGENT].take_lost() == 0


def test_an_outlet_that_breaks_during_a_write_loses_the_rest_of_it() -> None:
    """If a write of bytes that faults delayed fails, only the unwritten bytes are lost."""
    schedule = added(plain(b"abc"), plain(b"de"), write(b"f", 5))
    assert schedule.outboxes[CLIENT].take(0) == b"abcde"
    schedule.outboxes[CLIENT].fail(2)
    assert schedule.outboxes[CLIENT].take_lost() == 4
    assert schedule.outboxes[CLIENT].size == 0
    assert schedule.outboxes[CLIENT].due_at is None


def test_nothing_waits_once_it_is_hurried() -> None:
    """If the recorder's supervisor fails, bytes that faults have delayed are sent at once."""
    schedule = added(write(b"b", 9), write(b"a", 5))
    hurried = [schedule.outboxes[CLIENT].is_hurried]
    schedule.hurry()
    assert [*hurried, schedule.outboxes[CLIENT].is_hurried] == [False, True]
    schedule.add(write(b"c", 1), 1)
    schedule.add(write(b"d", 0), 1)
    assert schedule.outboxes[CLIENT].due_at == 0
    assert written(schedule, 1) == [b"a", b"b", b"c", b"d"]
