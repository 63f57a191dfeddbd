"""The program's entry: for ``record``, the agent runs and bytes flow before anything is imported.

The order is the point. Arguments are read, signals blocked, the log opened, the agent spawned and
the pumps started with a handful of built-in modules; only then are trio, click and the database
imported, while the agent boots. Whatever goes wrong in that second half is said on stderr, and the
conversation goes on.
"""

import os
import sys
import time
from _signal import (
    SIG_BLOCK,
    SIG_IGN,
    SIGHUP,
    SIGINT,
    SIGQUIT,
    SIGTERM,
    SIGUSR1,
    SIGUSR2,
    getsignal,
    pthread_sigmask,
)
from errno import ENOSPC

from acp_proxy import __version__, capture
from acp_proxy.capture.agent_process import AgentProcess
from acp_proxy.capture.files import (
    LOG_SUFFIX,
    SQLITE_SUFFIXES,
    candidates,
    fresh_name,
    make_private,
    recordings_directory,
)
from acp_proxy.capture.latch import Latch
from acp_proxy.capture.log import NOTE, START, CaptureLog, Unrecorded, tell
from acp_proxy.capture.options import RecordOptions, parse, truth
from acp_proxy.capture.process_groups import SHORTAGES
from acp_proxy.capture.pumps import Detour
from acp_proxy.capture.relay import Relay

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

PARENT = "ACP_PROXY_PARENT"
"""Tells an acp-proxy inside the agent's command which recording and connection it is within."""

SWITCH_INTERVAL = 0.0001
"""Seconds a thread of ours may hold the interpreter while a pump has bytes to move."""
HEAD_START = 0.02
"""Seconds that the pumps have to themselves before we import the rest; agents take longer to boot,
and one that does not gets its first answer through undisturbed."""


def main() -> None:
    """Runs ``acp-proxy``."""
    capture.leave_at_once()
    if sys.argv[1:2] == ["record"]:
        options = parse(sys.argv[2:], os.environ)
        if options is not None:
            record(options)
    elif sys.argv[1:2] == ["replay"]:  # which can tell what is left once it runs
        pthread_sigmask(SIG_BLOCK, (SIGTERM, SIGINT, SIGHUP))
    from acp_proxy.cli.main import cli

    cli(prog_name="acp-proxy")


def record(options: RecordOptions, detour: "Detour | None" = None) -> "NoReturn":
    """Runs the agent behind a relay; returns to the shell only through its exit status.

    Args:
        options: what was asked for.
        detour: what the streams pass through; by default nothing.
    """
    if _switched_off():
        from acp_proxy.capture.in_place import become

        become(options.command)
    parent = os.getppid()  # as early as can be: a client may leave at any time
    try:
        client_in, client_out = take_stdio()
    except OSError as e:
        _give_way(options, e, Unrecorded())
    signals = {
        s
        for s in (SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2)
        if getsignal(s) is not SIG_IGN
    }
    mask = pthread_sigmask(SIG_BLOCK, signals)
    detour = detour or Detour()
    identity = _Identity(options, detour)
    log = _open_log(options, identity)
    for complaint in options.ignored:
        tell(complaint)
        log.event(NOTE, {"action": "ignored", "reason": complaint})
    try:
        agent = AgentProcess.spawn(options.command, identity.agent_environment(), mask)
    except OSError as e:
        if e.errno in SHORTAGES:
            _give_way(options, e, log, (client_in, client_out), mask)
        from acp_proxy.capture.in_place import leave_without_agent

        leave_without_agent(options.command[0], e, log)
    if agent.group.complaint:
        reason = f"{agent.group.complaint}; if acp-proxy is killed, the agent may stay"
        tell(reason)
        log.event(NOTE, {"action": "unguarded", "reason": reason})
    detour.attach(agent, log, identity.origin_ns)
    relay = Relay(
        log,
        agent,
        client_in=client_in,
        client_out=client_out,
        signals=signals,
        parent=parent,
        detour=detour,
    )
    try:
        relay.start()
    except RuntimeError as e:
        agent.kill_group()
        _give_way(options, e, log, (client_in, client_out), mask)
    relay.drained.wait(HEAD_START)
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        if relay.is_short_of_memory:
            raise MemoryError
        from acp_proxy.runtime.supervisor import supervise

        supervise(relay, options)
    except BaseException as e:
        tell(_why_unsupervised(e))
    relay.release()
    Latch().wait()
    raise AssertionError("unreachable: a thread of the relay ends the process")


def _give_way(
    options: RecordOptions,
    shortage: Exception,
    log: Unrecorded,
    client: "tuple[int, int] | None" = None,
    mask: "set[int] | None" = None,
) -> "NoReturn":
    """Puts the client's pipes back, which frees two descriptors, and executes the agent."""
    for fd, moved in enumerate(client or ()):
        os.dup2(moved, fd)
        os.close(moved)
    from acp_proxy.capture.in_place import give_way

    give_way(options, getattr(shortage, "strerror", None) or str(shortage), log, mask)


def _why_unsupervised(error: BaseException) -> str:
    if isinstance(error, MemoryError):
        problem = "too little memory"
    elif isinstance(error, OSError) and error.errno in SHORTAGES:
        problem = str(error.strerror)
    else:
        problem = f"internal error: {type(error).__name__}: {error}"
    return f"{problem}; recording goes on without its indexer, and inspect indexes it later"


class _Identity:
    """Who this recording is: ids, clocks and the recording it happens within."""

    def __init__(self, options: RecordOptions, detour: Detour) -> None:
        self.id = os.urandom(6).hex()
        self.wall_ns = time.time_ns()
        self.origin_ns = time.monotonic_ns()
        self.parent, _, outer = os.environ.get(PARENT, "").partition("/")
        self.connection_id = outer or self.id
        self._options = options
        self._detour = detour

    def path(self) -> str:
        """Where to record, before anything is known to be taken."""
        options = self._options
        if options.output:
            return os.path.abspath(options.output)
        stem = options.name or fresh_name(options.command[0], self.id, self.wall_ns)
        return os.path.join(recordings_directory(os.environ), stem + ".db")

    def fields(self, path: str) -> "dict[str, str | int | list[str]]":
        """What the first record of the log says."""
        uname = os.uname()
        stem = os.path.splitext(os.path.basename(path))[0]
        fields: dict[str, str | int | list[str]] = {
            "id": self.id,
            "name": (self._options.output and self._options.name) or stem,
            "tool_version": __version__,
            "wall": self.wall_ns,
            "origin": self.origin_ns,
            "arg": self._options.command,
            "cwd": _working_directory(),
            "platform": f"{uname.sysname} {uname.machine}",
            "dialect": self._options.dialect,
            "redaction": self._options.redact,
            "connection_id": self.connection_id,
            "pid": os.getpid(),
            **self._detour.fields,
        }
        if self.parent:
            fields["parent"] = self.parent
        return fields

    def agent_environment(self) -> "dict[str, str]":
        """The agent's environment: ours, and who we are."""
        return {**os.environ, PARENT: f"{self.id}/{self.connection_id}"}


def _open_log(options: RecordOptions, identity: _Identity) -> Unrecorded:
    wanted = identity.path()
    try:
        make_private(os.path.dirname(wanted))
        path, log = _first_free(wanted, options)
        if not log.event(START, identity.fields(path)):
            log.remove()
            if os.path.exists(path):
                os.unlink(path)
            raise OSError(ENOSPC, os.strerror(ENOSPC))
    except OSError as e:
        where = wanted + LOG_SUFFIX
        problem = f"cannot record into {where}: {e.strerror}"
        if options.require_recording:
            tell(f"{problem}; the agent was not started, as --require-recording asks")
            os._exit(1)
        tell(f"{problem}; the conversation goes on unrecorded")
        return Unrecorded()
    if path != wanted:
        tell(f"{wanted} exists; recording into {path}")
    return log


def _first_free(wanted: str, options: RecordOptions) -> "tuple[str, CaptureLog]":
    for path in candidates(wanted):
        if any(os.path.lexists(path + suffix) for suffix in SQLITE_SUFFIXES):
            continue
        try:
            log = CaptureLog.create(
                path + LOG_SUFFIX, max_size=options.max_size, fsync=options.fsync
            )
        except FileExistsError:
            continue
        try:
            _claim(path)
        except FileExistsError:
            log.remove()
            os.close(log.fd)
            continue
        except OSError:  # the indexer will say so; what matters is the log
            pass
        return path, log
    raise FileExistsError(17, "no free name is left")


def _claim(path: str) -> None:
    """Makes the empty file that is to be the database, so that nobody else can put one there.

    Raises:
        OSError: something is there, be it a link to nothing; or nothing can be made.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(path, flags, 0o600))


def take_stdio() -> "tuple[int, int]":
    """Moves the client's pipes out of reach, so that no stray read or print can touch them.

    Descriptors 0 and 1 become /dev/null and stderr: whatever a library prints, the client sees ACP.

    Returns:
        What the client writes to, and what it reads from; one that is missing is /dev/null.

    Raises:
        OSError: too few descriptors are left; nothing has been moved.
    """
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:  # closed by whoever started us: never leave it to the next open
            os.open(os.devnull, os.O_RDWR)
    moved: list[int] = []
    try:
        for fd in (0, 1):
            moved.append(_high_dup(fd))
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        for fd in moved:
            os.close(fd)
        raise
    client_in, client_out = moved
    os.dup2(null, 0)
    os.dup2(2, 1)
    os.close(null)
    return client_in, client_out


def _high_dup(fd: int) -> int:
    import fcntl

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)


def _switched_off() -> bool:
    try:
        return truth(os.environ.get("ACP_PROXY_OFF", ""))
    except ValueError:
        return True


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""
