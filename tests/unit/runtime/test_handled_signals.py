"""A signal that somebody has switched off before us stays so."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
import trio

from acp_proxy.cli.commands import verify
from acp_proxy.runtime.handled_signals import handled, received

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trio.testing import MockClock

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Whatever was ignored before, and whatever a test does with signals: it is undone."""
    before = {signum: signal.signal(signum, _hear_nothing) for signum in STOPPING}
    yield
    for signum, handler in before.items():
        signal.signal(signum, handler)


def _hear_nothing(_: int, __: object) -> None:
    """Handles a signal."""


def test_what_is_ignored_is_not_ours() -> None:
    """As `nohup` has it."""
    assert handled(*STOPPING) == [*STOPPING]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert handled(*STOPPING) == [signal.SIGINT, signal.SIGTERM]


def test_what_nobody_could_put_back_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python says nothing of a handler that it has not installed."""
    before = signal.getsignal(signal.SIGHUP)
    monkeypatch.setattr(signal, "getsignal", lambda s: None if s == signal.SIGTERM else before)
    assert handled(*STOPPING) == [signal.SIGINT, signal.SIGHUP]


def test_a_verification_handles_what_is_not_ignored() -> None:
    """And all is as before when it is over."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    before = [signal.getsignal(signum) for signum in STOPPING]
    with verify._orderly():
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        with pytest.raises(SystemExit, match="143"):
            signal.raise_signal(signal.SIGTERM)
    assert [signal.getsignal(signum) for signum in STOPPING] == before


async def test_who_is_told_to_stop_hears_it() -> None:
    """What is ignored is not heard."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with received(*STOPPING) as signals:
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
        assert await anext(signals) == signal.SIGTERM


async def test_nobody_may_be_able_to_stop_us(autojump_clock: MockClock) -> None:
    """Then nothing is heard, and nothing else is different."""
    for signum in STOPPING:
        signal.signal(signum, signal.SIG_IGN)
    with received(*STOPPING) as signals, trio.move_on_after(3600) as waiting:
        async for _ in signals:
            raise AssertionError("a signal came")
    assert waiting.cancelled_caught
    assert autojump_clock.current_time() >= 3600
