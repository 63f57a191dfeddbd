"""The relay: the log of one conversation, and threads for its pumps, its agent and signals.

A relay can run without trio. Until `record.supervisor` adopts the relay, the last thread to finish
closes the log and ends the process. After that, the supervisor ends the process.
"""

import os
import time
from _signal import SIGALRM, SIGCONT, SIGINT, SIGKILL, SIGQUIT, SIGTERM, SIGTTIN, sigwait
from _thread import allocate_lock, stack_size, start_new_thread

from acp_proxy.record.capture.latch import Latch
from acp_proxy.record.capture.pumps import Interceptor
from acp_proxy.record.capture.stdio import warn
from acp_proxy.recording.log_format import (
    CLOSE,
    EXIT,
    GAVE_UP,
    NOTE,
    SIGNAL,
    STDERR,
    STOPPING,
    TO_AGENT,
    TO_CLIENT,
    Log,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from acp_proxy.record.capture.agent_process import AgentProcess

_OF_KEYS = (SIGINT, SIGQUIT)
"""Signals that a key press sends to all processes of the terminal's foreground group."""
_SI_KERNEL = 0x80
"""The `si_code` of a signal that the kernel, not a process, has sent."""
_STOPPED = "told to stop"
_SMALL_STACK = 1 << 18
"""Stack size in bytes of a thread if memory does not suffice for the usual 8 MB."""


class Relay:
    """The running parts of one connection: log, agent, pumps and signal handling.

    Attributes:
        stopping: set when a signal to stop has arrived.
        drained: set when the agent has exited and both of its outputs have ended.
        parent: the process id of our parent at the start, usually the client.
        is_short_of_memory: whether memory hardly sufficed for the threads.
        last_words: a message for stderr before the process ends without a supervisor; may be empty.
    """

    def __init__(
        self,
        log: Log,
        agent: "AgentProcess",
        *,
        client_in: int,
        client_out: int,
        signals: "set[int]",
        parent: int,
        interceptor: "Interceptor | None" = None,
    ) -> None:
        self.log = log
        self.agent = agent
        self.interceptor = interceptor = interceptor or Interceptor()
        self.to_agent = interceptor.pump(TO_AGENT, client_in, agent.stdin, log)
        self.to_client = interceptor.pump(TO_CLIENT, agent.stdout, client_out, log)
        self.stderr = interceptor.pump(STDERR, agent.stderr, 2, log)
        self.pumps = (self.to_agent, self.to_client, self.stderr)
        self.stopping = Latch()
        self.drained = Latch()
        self.parent = parent
        self.is_short_of_memory = False
        self.last_words = ""
        self.end_reason = ""
        self._signals = signals
        self._from_keys: set[int] = set()
        self._sent: set[int] = set()
        self._has_warned_of_stop = False
        self._adopted = False
        self._intercepted_begun = False
        self._leaving = False
        self._lock = allocate_lock()

    def start(self) -> None:
        """Starts the threads, except the threads of an interceptor.

        Raises:
            RuntimeError: memory does not suffice; no thread has read or written anything.
        """
        awaited = (self.agent.exited, self.to_client.ended, self.stderr.ended)
        for latch in awaited:
            latch.then(lambda: self.drained.set() if all(a.is_set for a in awaited) else None)
        self.drained.then(self._leave_unless_adopted)
        jobs = [pump.run for pump in self.pumps if pump.stream not in self.interceptor.streams]
        jobs.append(self._reap)
        if self._signals:
            jobs.append(self._pass_signals_on)
        self._start_together(jobs)

    def _start_together(self, jobs: "list[Callable[[], None]]") -> None:
        """Starts a thread for each job; all jobs begin, or none.

        If memory is short, a thread that was started may end before it runs any code. So each
        thread waits until every thread has begun.

        Raises:
            RuntimeError: memory does not suffice even for small stacks.
        """
        gate, arrived = allocate_lock(), list[object]()
        gate.acquire()

        def run(job: "Callable[[], None]") -> None:
            arrived.append(job)
            with gate:
                pass
            job()

        for job in jobs:
            try:
                start_new_thread(run, (job,))
            except RuntimeError:
                self.is_short_of_memory = True
                stack_size(_SMALL_STACK)
                start_new_thread(run, (job,))
        if self.is_short_of_memory:
            for _ in range(1000):
                if len(arrived) == len(jobs):
                    break
                time.sleep(0.001)
            else:
                raise RuntimeError("can't start new thread")
        gate.release()

    def start_intercepted(self) -> None:
        """Starts the threads of an interceptor, if they have not been started yet."""
        with self._lock:
            begun, self._intercepted_begun = self._intercepted_begun, True
        for pump in self.pumps:
            if pump.stream in self.interceptor.streams and not begun:
                start_new_thread(pump.run, ())

    def adopt(self) -> bool:
        """Takes over the task of ending our process; returns False if a thread already ends it."""
        with self._lock:  # the last thread may be about to check whether it has to end the process
            self._adopted = not self.drained.is_set
            return self._adopted

    def release(self) -> None:
        """Lets the thread that finishes last end the process, since the supervisor has failed."""
        with self._lock:
            self._adopted = False
        self.interceptor.give_up()
        self.start_intercepted()
        self.drained.then(self._leave_unless_adopted)

    def close(self) -> None:
        """Ends the remaining processes of a stopped agent's group, and writes the last record.

        If the agent ended by itself, the remaining processes go on running, as they would without
        us.
        """
        why = self._why()
        if self.agent.was_stopped or why == _STOPPED:
            self.agent.kill_group()
        elif left := self.agent.group.let_go():
            reason = f"the agent has left these processes running: {', '.join(dict.fromkeys(left))}"
            self.log.event(NOTE, {"action": "left", "reason": reason, "program": left})
        self.interceptor.farewell()
        self.log.event(CLOSE, {"reason": self.end_reason or why})

    def send_signal(self, signum: int, reason: str) -> None:
        """Sends a signal of our own to the agent's group, and logs it.

        Args:
            signum: the signal.
            reason: the reason, for the log.
        """
        self.log.event(SIGNAL, {"signal": signum, "action": "sent", "reason": reason})
        self._sent.add(signum)
        self.agent.send_signal(signum)

    def kill_holders(self, reason: str) -> None:
        """Kills the processes that keep an exited agent's output open, and logs this.

        Args:
            reason: the reason, for the log.
        """
        self.log.event(SIGNAL, {"signal": SIGKILL, "action": "sent", "reason": reason})
        self.agent.kill_holders()

    def leave(self) -> "NoReturn":
        """Ends the process the way the agent ended: by the same signal, or with its exit code.

        If the signal came only from us, as after `--grace`, the exit code is 128 + n.
        """
        agent = self.agent
        if agent.signal is not None and agent.appears_as is None and agent.signal not in self._sent:
            from acp_proxy.record.capture.in_place import die_of

            die_of(agent.signal)
        # `sys.exit` would wait for the thread that reads the client's stdin
        os._exit(self.agent.exit_status)

    def _leave_unless_adopted(self) -> None:
        with self._lock:
            if self._adopted or self._leaving:
                return
            self._leaving = True
        self.close()
        if self.last_words:
            warn(self.last_words)
        self.leave()

    def _why(self) -> str:
        if self.stopping.is_set or self.agent.exit_status - 128 in self._from_keys:
            return _STOPPED
        if self.to_agent.ended.is_set:
            return "the client closed its end"
        return "the agent exited"

    def _reap(self) -> None:
        self.agent.wait(self._note_stop)
        if self.agent.signal is not None and self.agent.appears_as is None:
            self.log.event(EXIT, {"signal": self.agent.signal})
        else:
            self.log.event(EXIT, {"code": self.agent.exit_status})
        self.agent.exited.set()

    def _note_stop(self, signum: int) -> None:
        """Reports that the agent was stopped for using a terminal that it has no access to."""
        what, name = ("read from", "SIGTTIN") if signum == SIGTTIN else ("change", "SIGTTOU")
        reason = f"stopped by {name}: it tried to {what} the terminal of its client"
        self.log.event(NOTE, {"action": "stopped", "reason": f"the agent was {reason}"})
        if not self._has_warned_of_stop:
            self._has_warned_of_stop = True
            warn(f"the agent was {reason}; a recorded agent has no access to this terminal")

    def _pass_signals_on(self) -> None:
        while True:
            signum, from_keys, sender = self._next_signal()
            if from_keys:  # the terminal has also sent the signal to the agent
                self._from_keys.add(signum)
                reason = "by the terminal, to client and agent alike"
                self.log.event(SIGNAL, {"signal": signum, "action": "passed on", "reason": reason})
                continue
            if signum == SIGALRM:
                signum, sender = SIGTERM, {**sender, "reason": GAVE_UP}
            self.log.event(SIGNAL, {"signal": signum, "action": "passed on", **sender})
            self.agent.send_signal(signum)
            if signum in STOPPING:
                self.agent.send_signal(SIGCONT)  # a stopped process handles no other signal
                self.stopping.set()

    def _next_signal(self) -> "tuple[int, bool, dict[str, str | int | list[str]]]":
        """Waits for a signal.

        Returns:
            The signal; whether the terminal also sent the signal to the agent; and fields for the
            log: ``sender`` if our parent sent the signal, else none.
        """
        try:
            from _signal import sigwaitinfo
        except ImportError:  # macOS
            return sigwait(self._signals), False, {}
        info = sigwaitinfo(self._signals)
        is_key = info.si_signo in _OF_KEYS and info.si_code == _SI_KERNEL
        sender = {"sender": "parent"} if info.si_pid == self.parent else {}
        return info.si_signo, is_key and self.agent.group.is_shared, {**sender}
