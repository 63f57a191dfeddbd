"""The relay: one conversation's log, agent, pumps and signals, each with a thread of its own.

A relay lives before trio does and can live without it. As long as nobody has adopted it, the last
thread to finish closes the log and leaves; a session shorter than our own imports is over before
they are. Once adopted (`runtime.supervisor`), leaving is the adopter's.
"""

import os
from _signal import SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, sigwait
from _thread import allocate_lock, start_new_thread

from acp_proxy.capture.latch import Latch
from acp_proxy.capture.log import CLOSE, EXIT, SIGNAL, STDERR, TO_AGENT, TO_CLIENT, Unrecorded
from acp_proxy.capture.pumps import Detour

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from acp_proxy.capture.agent_process import AgentProcess

STOPPING = (SIGTERM, SIGINT, SIGHUP, SIGQUIT)
"""The signals that tell us to stop, and not only to pass them on."""


class Relay:
    """What runs while two peers talk.

    Attributes:
        pumps: to the agent, to the client, and the agent's stderr.
        stopping: set when a signal told us to stop.
        drained: set when the agent has exited and both of its outputs have ended.
        parent: the process id of our parent at the start, usually the client's.
        detour: what the streams pass through.
    """

    def __init__(
        self,
        log: Unrecorded,
        agent: "AgentProcess",
        *,
        client_in: int,
        client_out: int,
        signals: "set[int]",
        parent: int,
        detour: "Detour | None" = None,
    ) -> None:
        self.log = log
        self.agent = agent
        self.detour = detour = detour or Detour()
        self.to_agent = detour.pump(TO_AGENT, client_in, agent.stdin, log)
        self.to_client = detour.pump(TO_CLIENT, agent.stdout, client_out, log)
        self.stderr = detour.pump(STDERR, agent.stderr, 2, log, keep_sink=True)
        self.pumps = (self.to_agent, self.to_client, self.stderr)
        self.stopping = Latch()
        self.drained = Latch()
        self.parent = parent
        self.end_reason = ""
        self._signals = signals
        self._adopted = False
        self._detour_begun = False
        self._leaving = False
        self._lock = allocate_lock()

    def start(self) -> None:
        """Starts the threads, those of a detour excepted."""
        awaited = (self.agent.exited, self.to_client.ended, self.stderr.ended)
        for latch in awaited:
            latch.then(lambda: self.drained.set() if all(a.is_set for a in awaited) else None)
        self.drained.then(self._leave_unless_adopted)
        for pump in self.pumps:
            if pump.stream not in self.detour.streams:
                start_new_thread(pump.run, ())
        start_new_thread(self._reap, ())
        if self._signals:
            start_new_thread(self._pass_signals_on, ())

    def start_detour(self) -> None:
        """Starts the threads of a detour, once; whoever adopted does, or whoever saw him fail."""
        with self._lock:
            begun, self._detour_begun = self._detour_begun, True
        for pump in self.pumps:
            if pump.stream in self.detour.streams and not begun:
                start_new_thread(pump.run, ())

    def adopt(self) -> bool:
        """Takes over the leaving; False when the last thread is on its way out already."""
        with self._lock:
            self._adopted = not self.drained.is_set
            return self._adopted

    def release(self) -> None:
        """Gives the leaving back, because whoever adopted has failed."""
        with self._lock:
            self._adopted = False
        self.detour.give_up()
        self.start_detour()
        self.drained.then(self._leave_unless_adopted)

    def close(self) -> None:
        """Ends what is left of the agent's group and writes the last record."""
        self.agent.kill_group()
        self.detour.farewell()
        self.log.event(CLOSE, {"reason": self.end_reason or self._why()})

    def send_signal(self, signum: int, reason: str) -> None:
        """Sends a signal of our own to the agent's group, and logs it."""
        self.log.event(SIGNAL, {"signal": signum, "action": "sent", "reason": reason})
        self.agent.send_signal(signum)

    def leave(self) -> "NoReturn":
        """Ends the process with the agent's status.

        A thread blocked in reading the client's stdin cannot be cancelled, hence no `sys.exit`.
        """
        os._exit(self.agent.exit_status)

    def _leave_unless_adopted(self) -> None:
        with self._lock:
            if self._adopted or self._leaving:
                return
            self._leaving = True
        self.close()
        self.leave()

    def _why(self) -> str:
        if self.stopping.is_set:
            return "told to stop"
        if self.to_agent.ended.is_set:
            return "the client closed its end"
        return "the agent exited"

    def _reap(self) -> None:
        self.agent.wait()
        if self.agent.appears_as is not None:
            self.log.event(EXIT, {"code": self.agent.appears_as})
        elif self.agent.signal is not None:
            self.log.event(EXIT, {"signal": self.agent.signal})
        else:
            self.log.event(EXIT, {"code": self.agent.code or 0})
        self.agent.exited.set()

    def _pass_signals_on(self) -> None:
        while True:
            signum = sigwait(self._signals)
            self.log.event(SIGNAL, {"signal": signum, "action": "passed on"})
            self.agent.send_signal(signum)
            if signum in STOPPING:
                self.agent.send_signal(SIGCONT)  # a stopped process hears nothing
                self.stopping.set()
