"""Starts an agent with a recorder, and runs a conversation with it, prompt by prompt.

The recorder is the one of ``acp-proxy record``, so the recording is like any other. If we are
killed, the recorder reads the end of its input and ends the agent.
"""

import contextlib
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from functools import partial
from pathlib import Path
from subprocess import PIPE
from typing import Protocol

import trio
from attrs import define, field, frozen
from trio.abc import ReceiveStream, SendStream

from acp_proxy.base.limits import CHUNK
from acp_proxy.playback.drivers.event_loop import received, run_alone
from acp_proxy.playback.drivers.recorder_shutdown import Orphans, RecorderShutdown
from acp_proxy.playback.drivers.verifier import environment
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.try_.agent_connection import AgentConnection, AgentLeft, Watch
from acp_proxy.try_.agent_requests import AgentRequests, Ask, Policy
from acp_proxy.try_.dialogue import Dialogue, Refused
from acp_proxy.try_.forms import Forms, McpServer
from acp_proxy.try_.running_commands import RunningCommands
from acp_proxy.try_.work_files import WorkFiles

_MOMENT_S = 0.5
"""Seconds until the stderr counts as complete after the agent has ended."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GRACE_S = 5.0
"""Seconds in which an agent ends after its input was closed."""


class Ending(StrEnum):
    """How a conversation ended."""

    COMPLETE = "complete"
    """All prompts have been answered."""
    REFUSED = "refused"
    """The agent has refused to open a conversation."""
    LEFT = "left"
    """The agent has ended its output before it had answered."""
    NO_ANSWER = "no answer"
    """The agent was silent for too long while it had to answer."""
    STOPPED = "stopped"
    """A signal has stopped us."""


@frozen
class TrialOptions:
    """The options of a conversation.

    Attributes:
        command: the command of the agent.
        recording: the path of the new recording, which must not exist.
        dialect: the dialect to begin with.
        policy: who decides what the agent may do.
        servers: the MCP servers of the session.
        timeout_s: the seconds of silence after which an agent that has to answer counts as hung.
        grace_s: the seconds that the agent has to end after its input was closed.
    """

    command: Sequence[str]
    recording: str
    dialect: str
    policy: Policy
    servers: Sequence[McpServer]
    timeout_s: float
    grace_s: float = GRACE_S


@frozen
class TrialOutcome:
    """How a conversation ended.

    Attributes:
        ending: the kind of the end.
        detail: a sentence about it, or "".
        signum: the signal that stopped us, or None.
        exit_code: the exit code of the recorder, which is the agent's own.
        left_behind: processes of the agent that outlived it; they were ended.
    """

    ending: Ending
    detail: str
    signum: int | None
    exit_code: int | None
    left_behind: list[str]


@define(eq=False)
class StartedAgent:
    """A recorder that is our child, and its agent.

    Attributes:
        process: the recorder; when it has ended, its exit code is the agent's own.
        source: the agent's output.
        sink: the agent's input.
        stderr: the agent's stderr, and messages of the recorder.
        signum: the signal that stopped us, or None.
        is_hopeless: whether the agent will not end by itself.
        left_behind: processes of the agent that outlived it; they were ended.
    """

    process: trio.Process
    source: ReceiveStream
    sink: SendStream
    stderr: ReceiveStream
    signum: int | None = None
    is_hopeless: bool = False
    left_behind: list[str] = field(factory=list)


@asynccontextmanager
async def started_agent(
    command: Sequence[str],
    recording: str,
    grace_s: float = GRACE_S,
    signals: AsyncIterator[int] | None = None,
) -> AsyncIterator[StartedAgent]:
    """Starts a recorder with an agent; ends both when the context is left.

    Args:
        command: the command of the agent.
        recording: the path of the new recording, which must not exist.
        grace_s: the seconds that the agent has to end after its input was closed.
        signals: signals that kill both while they are being ended; None if there are none.
    """
    recorder = [sys.executable, "-P", "-m", "acp_proxy", "record", "--require-recording"]
    recorder += ["-o", recording, "--grace", str(grace_s), "--", *command]
    with Orphans() as orphans:
        process = await trio.lowlevel.open_process(
            recorder,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env=environment(os.environ),
            start_new_session=True,  # a terminal's Ctrl-C is ours, and becomes session/cancel
        )
        source, sink, stderr = process.stdout, process.stdin, process.stderr
        assert source is not None
        assert sink is not None
        assert stderr is not None
        agent = StartedAgent(process, source, sink, stderr)
        try:
            yield agent
        finally:
            with trio.CancelScope(shield=True):
                await _end(agent, grace_s, signals)
                agent.left_behind = await orphans.end(grace_s)


async def _end(agent: StartedAgent, grace_s: float, signals: AsyncIterator[int] | None) -> None:
    shutdown = RecorderShutdown(agent.process, grace_s)
    shutdown.signum, shutdown.is_hopeless = agent.signum, agent.is_hopeless
    async with trio.open_nursery() as nursery:
        if signals is not None:
            nursery.start_soon(shutdown.kill_on_signal, signals)
        await shutdown.end()
        nursery.cancel_scope.cancel()
    agent.signum = shutdown.signum


class TrialScreen(Protocol):
    """Shows a conversation while it runs, and asks the user."""

    watch: Watch
    ask: Ask

    def prompts(self) -> AsyncIterator[str]:
        """Yields the prompts, each when the turn before it has ended."""
        ...

    def stderr(self, text: bytes) -> None:
        """Shows what the agent has written to its stderr.

        Args:
            text: a piece of the text.
        """
        ...

    def tick(self, quiet_since: int) -> None:
        """Shows who is waited for; called every second.

        Args:
            quiet_since: when something last happened, in nanoseconds of trio's clock.
        """
        ...


def try_agent(options: TrialOptions, screen: TrialScreen) -> TrialOutcome:
    """Talks to an agent, and records the conversation.

    Args:
        options: the options.
        screen: shows the conversation, and has the prompts.
    """
    return run_alone(partial(_run, options, screen))


async def _run(options: TrialOptions, screen: TrialScreen) -> TrialOutcome:
    with received(*_SIGNALS) as signals:
        async with trio.open_nursery() as nursery:
            async with started_agent(
                options.command, options.recording, options.grace_s, signals
            ) as agent:
                nursery.start_soon(_read_stderr, agent.stderr, screen)
                run = _Run(options, screen, agent)
                await run.play(signals)
            # A process may keep stderr open: what comes soon is still part of it.
            nursery.cancel_scope.deadline = trio.current_time() + _MOMENT_S
    code = agent.process.returncode
    return TrialOutcome(run.ending, run.detail, agent.signum, code, agent.left_behind)


async def _read_stderr(stderr: ReceiveStream, screen: TrialScreen) -> None:
    """Shows the agent's stderr until its end, also while the agent is being ended."""
    with contextlib.suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        while text := await stderr.receive_some(CHUNK):
            screen.stderr(bytes(text))


@define(eq=False)
class _Run:
    """One run of a recorder, an agent, and a conversation."""

    _options: TrialOptions
    _screen: TrialScreen
    _agent: StartedAgent
    ending: Ending = field(init=False, default=Ending.COMPLETE)
    detail: str = field(init=False, default="")
    _conversation: Dialogue = field(init=False)

    async def play(self, signals: AsyncIterator[int]) -> None:
        """Plays the conversation to its end."""
        async with trio.open_nursery() as nursery:
            terminals = RunningCommands(nursery)
            requests = AgentRequests(
                self._options.policy,
                self._screen.ask,
                WorkFiles(Path.cwd()),
                terminals,
                self._options.dialect,
            )
            peer = AgentConnection(
                self._agent.source, self._agent.sink, requests.answer, self._watch
            )
            forms = Forms(self._options.dialect)
            self._conversation = Dialogue(peer, requests, forms, self._options.servers)
            scope = nursery.cancel_scope
            nursery.start_soon(self._read, peer)
            nursery.start_soon(self._tick, peer)
            nursery.start_soon(self._stop_on_signal, signals, scope)
            nursery.start_soon(self._watch_silence, peer, terminals, scope)
            try:
                await self._conversation.play(self._screen.prompts())
            except AgentLeft:
                self._end(Ending.LEFT, "the agent ended before it had answered")
            except Refused as e:
                self._end(Ending.REFUSED, str(e))
            scope.cancel()

    def _end(self, ending: Ending, detail: str) -> None:
        """Notes why the conversation ended; only the first reason counts."""
        if self.ending is Ending.COMPLETE:
            self.ending, self.detail = ending, detail

    def _watch(self, direction: Direction, raw: bytes) -> None:
        if direction is Direction.TO_CLIENT:
            self._conversation.note(raw)
        self._screen.watch(direction, raw)

    async def _read(self, peer: AgentConnection) -> None:
        await peer.run()
        self._conversation.leave()

    async def _tick(self, peer: AgentConnection) -> None:
        while True:
            await trio.sleep(1)
            self._screen.tick(peer.moved_ns)

    async def _stop_on_signal(self, signals: AsyncIterator[int], scope: trio.CancelScope) -> None:
        """Cancels the open turn on the first Ctrl-C, and stops on any other signal."""
        async for signum in signals:
            if signum == signal.SIGINT and await self._conversation.cancel():
                continue
            self._agent.signum = signum
            self._end(Ending.STOPPED, "stopped")
            scope.cancel()

    async def _watch_silence(
        self, peer: AgentConnection, terminals: RunningCommands, scope: trio.CancelScope
    ) -> None:
        """Stops the conversation when the agent has to answer and is silent for too long."""
        await peer.fall_silent(
            self._options.timeout_s,
            lambda: self._conversation.is_turn_open,
            lambda: terminals.are_running,
        )
        self._agent.is_hopeless = self.ending is Ending.COMPLETE
        self._end(Ending.NO_ANSWER, f"the agent was silent for {self._options.timeout_s:g} s")
        scope.cancel()
