"""A replay and a verification ignore signals that were ignored before their start."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
import trio

from acp_proxy.cli.interruption import exit_by, handling
from acp_proxy.playback.drivers.event_loop import handled, received

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trio.testing import MockClock

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Restores all handlers after the test."""
    before = {signum: signal.signal(signum, _hear_nothing) for signum in STOPPING}
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


def _hear_nothing(_: int, __: object) -> None:
    """Stands for a signal handler that does nothing."""


def test_ignored_signals_are_not_handled() -> None:
    """If a signal is ignored when `replay` starts, `replay` installs no handler for it."""
    assert handled(*STOPPING) == [*STOPPING]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert handled(*STOPPING) == [signal.SIGINT, signal.SIGTERM]


def test_foreign_handlers_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """`replay` installs no handler for a signal that code other than Python already handles."""
    before = signal.getsignal(signal.SIGHUP)
    monkeypatch.setattr(signal, "getsignal", lambda s: None if s == signal.SIGTERM else before)
    assert handled(*STOPPING) == [signal.SIGINT, signal.SIGHUP]


def test_a_verification_handles_what_is_not_ignored() -> None:
    """`verify` handles signals that were not ignored, and restores the old handlers at its end."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    before = [signal.getsignal(signum) for signum in STOPPING]
    with handling(exit_by, signal.SIGTERM, signal.SIGHUP):
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        with pytest.raises(SystemExit, match="143"):
            signal.raise_signal(signal.SIGTERM)
    assert [signal.getsignal(signum) for signum in STOPPING] == before


async def test_a_handled_signal_is_received() -> None:
    """If SIGHUP is ignored and both SIGHUP and SIGTERM come, a replay receives only SIGTERM."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with received(*STOPPING) as signals:
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
        assert await anext(signals) == signal.SIGTERM


async def test_all_signals_may_be_ignored(autojump_clock: MockClock) -> None:
    """If all stop signals are ignored when a replay starts, the replay receives none of them."""
    for signum in STOPPING:
        signal.signal(signum, signal.SIG_IGN)
    with received(*STOPPING) as signals, trio.move_on_after(3600) as waiting:
        async for _ in signals:
            raise AssertionError("a signal came")
    assert waiting.cancelled_caught
    assert autojump_clock.current_time() >= 3600
