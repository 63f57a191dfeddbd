"""Starts a recording: the agent runs and bytes flow before anything slow is imported.

With only a few built-in modules, signals are blocked, the log is opened, the agent is spawned and
the pumps are started. Only then are trio and the database imported, while the agent boots. An error
in this second part is reported on stderr, and the conversation goes on.
"""

import os
import sys
from _signal import (
    SIG_BLOCK,
    SIG_IGN,
    SIGALRM,
    SIGHUP,
    SIGINT,
    SIGQUIT,
    SIGTERM,
    SIGUSR1,
    SIGUSR2,
    getsignal,
    pthread_sigmask,
)

from acp_proxy.record.capture.agent_process import AgentProcess
from acp_proxy.record.capture.latch import Latch
from acp_proxy.record.capture.log_writer import CaptureLog
from acp_proxy.record.capture.new_recording import Identity, open_log
from acp_proxy.record.capture.process_groups import SHORTAGES
from acp_proxy.record.capture.pumps import Interceptor
from acp_proxy.record.capture.record_options import RecordOptions, is_off
from acp_proxy.record.capture.relay import Relay
from acp_proxy.record.capture.stdio import explain_terminal, take_stdio, unchecked, warn
from acp_proxy.recording.file_names import LOG_SUFFIX
from acp_proxy.recording.log_format import NOTE, Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    Supervise = Callable[[Relay, RecordOptions], None]
    Mask = Callable[[str], str]

SWITCH_INTERVAL = 0.0001
"""Seconds that another thread may keep the interpreter while a pump has bytes to move."""
HEAD_START = 0.02
"""Seconds before slow modules are imported. In this time only the pumps run, so imports do not
delay the first answer of a fast agent."""


def record(
    options: RecordOptions,
    supervise: "Supervise",
    mask_text: "Mask",
    interceptor: "Interceptor | None" = None,
) -> "NoReturn":
    """Runs the agent behind a relay, then ends the process with the agent's exit status.

    Args:
        options: the options of the command line.
        supervise: owns the relay as soon as bytes flow, and ends the process. The call loads slow
            modules.
        mask_text: removes secrets from printed text. It is called, and loads slow modules, only if
            the agent cannot be started.
        interceptor: makes the pumps; by default, pumps without faults are made.
    """
    if is_off(os.environ.get("ACP_PROXY_OFF", "")):
        from acp_proxy.record.capture.in_place import become

        become(options.command, mask_text)
    parent = os.getppid()  # as early as possible: a client may leave at any time
    try:
        client_in, client_out = take_stdio()
    except OSError as e:
        _give_way(options, e, Log(), mask_text)
    signals = {
        s
        for s in (SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2)
        if getsignal(s) is not SIG_IGN
    }
    mask = pthread_sigmask(SIG_BLOCK, signals)
    interceptor = interceptor or Interceptor()
    identity = Identity(options, interceptor)
    log = open_log(options, identity)
    for complaint in options.ignored:
        warn(complaint)
        log.event(NOTE, {"action": "ignored", "reason": complaint})
    try:
        agent = AgentProcess.spawn(options.command, identity.agent_environment(), mask)
    except OSError as e:
        if e.errno in SHORTAGES:
            _give_way(options, e, log, mask_text, (client_in, client_out), mask)
        from acp_proxy.record.capture.in_place import leave_without_agent

        leave_without_agent(options.command[0], e, log, mask_text)
    if agent.group.complaint:
        reason = f"{agent.group.complaint}; if acp-proxy is killed, the agent may go on running"
        warn(reason)
        log.event(NOTE, {"action": "unguarded", "reason": reason})
    interceptor.attach(agent, log, identity.origin_ns)
    relay = Relay(
        log,
        agent,
        client_in=client_in,
        client_out=client_out,
        signals=signals,
        parent=parent,
        interceptor=interceptor,
    )
    if options.check and isinstance(log, CaptureLog):
        relay.last_words = unchecked(log.path.removesuffix(LOG_SUFFIX))
    explain_terminal(client_in)  # before a thread closes it
    try:
        relay.start()
    except RuntimeError as e:
        agent.kill_group()
        _give_way(options, e, log, mask_text, (client_in, client_out), mask)
    relay.drained.wait(HEAD_START)
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        if relay.is_short_of_memory:
            raise MemoryError
        supervise(relay, options)
    except BaseException as e:
        warn(_why_unsupervised(e))
    relay.release()
    Latch().wait()
    raise AssertionError("unreachable: a thread of the relay ends the process")


def _give_way(
    options: RecordOptions,
    shortage: Exception,
    log: Log,
    mask_text: "Mask",
    client: "tuple[int, int] | None" = None,
    mask: "set[int] | None" = None,
) -> "NoReturn":
    """Restores the client's pipes, which frees two descriptors, and executes the agent."""
    for fd, moved in enumerate(client or ()):
        os.dup2(moved, fd)
        os.close(moved)
    from acp_proxy.record.capture.in_place import give_way

    give_way(options, getattr(shortage, "strerror", None) or str(shortage), log, mask_text, mask)


def _why_unsupervised(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        problem = "too little memory"
    elif isinstance(error, OSError) and error.errno in SHORTAGES:
        problem = str(error.strerror)
    else:
        problem = f"internal error: {type(error).__name__}: {error}"
    return f"{problem}; recording goes on without its indexer; a later command indexes the log"
