"""Tests the effect of Ctrl-C while a command runs."""

from __future__ import annotations

import signal
import time
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from acp_proxy.cli.group import LazyGroup
from acp_proxy.record.capture import leave, leave_at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import click

DEADLINE_S = 300.0
"""After which a wait has failed; no test takes it for a measure of anything."""


@pytest.fixture(autouse=True)
def _handler() -> Iterator[None]:
    """Restores the handler for Ctrl-C after the test."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


def group(command: Callable[[], object]) -> click.Group:
    """Returns a group of commands that calls a function."""
    return LazyGroup("acp-proxy", lazy={}, invoke_without_command=True, callback=command)


def in_a_class() -> None:
    """Raises Ctrl-C where Python before 3.12 turns it into a RuntimeError."""

    class Name:
        def __set_name__(self, *_: object) -> None:
            raise KeyboardInterrupt

    type("Named", (), {"name": Name()})


def in_a_chain() -> None:
    """Raises Ctrl-C within another exception that hides it."""
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as e:
        raise RuntimeError("while a class was made") from e


def in_a_group() -> None:
    """Raises Ctrl-C within a group of exceptions."""
    raise BaseExceptionGroup("tasks", [ValueError(), KeyboardInterrupt()])


def itself() -> None:
    """Sends Ctrl-C as a signal."""
    signal.raise_signal(signal.SIGINT)


def where_nothing_can_be_raised() -> None:
    """Sends Ctrl-C while an object is deleted, where Python ignores exceptions."""

    class Forgotten:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    Forgotten()
    ends_at = time.monotonic() + DEADLINE_S
    while time.monotonic() < ends_at:
        pass
    raise AssertionError("expected to be interrupted")


@pytest.mark.parametrize(
    "command", [in_a_class, in_a_chain, in_a_group, itself, where_nothing_can_be_raised]
)
def test_an_interrupted_command_prints_nothing(command: Callable[[], None]) -> None:
    """If Ctrl-C interrupts a command, the command prints nothing and exits with 130."""
    leave_at_once()
    tidied = []

    def run() -> None:
        try:
            command()
        finally:
            tidied.append(command)

    result = CliRunner().invoke(group(run))
    assert (result.exit_code, result.output, tidied) == (130, "", [command])
    assert signal.getsignal(signal.SIGINT) is leave


@pytest.mark.parametrize("error", [ValueError("x"), ExceptionGroup("x", [ValueError()])])
def test_other_mistakes_are_reported(error: Exception) -> None:
    """An exception in a command, other than Ctrl-C, is not hidden but reaches the caller."""

    def run() -> None:
        raise error from ValueError()

    assert CliRunner().invoke(group(run)).exception is error


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL, lambda *_: None])
def test_a_chosen_signal_handler_stays(handler: signal.Handlers) -> None:
    """If Ctrl-C has a handler or is ignored, acp-proxy keeps that handler while a command runs."""
    signal.signal(signal.SIGINT, handler)
    leave_at_once()
    values = []
    CliRunner().invoke(group(lambda: values.append(signal.getsignal(signal.SIGINT))))
    assert values == [handler]
    assert signal.getsignal(signal.SIGINT) is handler
