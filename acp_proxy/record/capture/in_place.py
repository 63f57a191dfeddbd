"""Ends our process in the way the agent ended, or replaces our process by the agent."""

import os
from _signal import SIG_DFL, SIG_SETMASK, SIGPIPE, SIGXFSZ, pthread_sigmask, signal

from acp_proxy.record.capture.log_writer import CaptureLog
from acp_proxy.record.capture.stdio import warn
from acp_proxy.recording.log_format import CLOSE, EXIT, NOTE, Log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from acp_proxy.record.capture.record_options import RecordOptions

    Mask = Callable[[str], str]

_SET_DUMPABLE = 4


def become(command: "list[str]", mask_text: "Mask") -> "NoReturn":
    """Replaces our process by the agent, without recording.

    Args:
        command: the agent's command.
        mask_text: removes secrets from printed text.
    """
    signal(SIGPIPE, SIG_DFL)
    signal(SIGXFSZ, SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as e:
        warn(cannot_start(command[0], e, mask_text))
        os._exit(_status(e))


def give_way(
    options: "RecordOptions",
    shortage: str,
    log: Log,
    mask_text: "Mask",
    mask: "set[int] | None" = None,
) -> "NoReturn":
    """Replaces our process by the agent, since the system has too few resources for both.

    Args:
        options: the options of the command line.
        shortage: the system's message about the missing resource.
        log: the log that records the shortage.
        mask_text: removes secrets from printed text.
        mask: the signal mask for the agent; None if our signal mask was not changed.
    """
    problem = f"cannot run beside the agent: {shortage}"
    if options.require_recording:
        reason = f"{problem}; the agent was not started, since it must be recorded"
    else:
        reason = f"{problem}; the agent runs unrecorded, in place of acp-proxy"
    log.event(NOTE, {"action": "unrecorded", "reason": reason})
    log.event(CLOSE, {"reason": reason})
    warn(reason)
    if options.require_recording:
        os._exit(1)
    if isinstance(log, CaptureLog):
        os.close(log.fd)  # executing a program needs a descriptor or two
    if mask is not None:
        pthread_sigmask(SIG_SETMASK, mask)
    become(options.command, mask_text)


def leave_without_agent(program: str, error: OSError, log: Log, mask_text: "Mask") -> "NoReturn":
    """Prints on stderr why a program cannot start; exits with 127 or 126, as a shell does.

    Args:
        program: the program that could not be started.
        error: the reason.
        log: the log that records the failure; secrets in logs are masked later.
        mask_text: removes secrets from printed text.
    """
    reason = cannot_start(program, error)
    warn(cannot_start(program, error, mask_text))
    log.event(EXIT, {"code": _status(error), "reason": reason})
    log.event(CLOSE, {"reason": reason})
    os._exit(_status(error))


def die_of(signum: int) -> None:
    """Ends the process by a signal; returns if this is impossible, as for process 1 of a container.

    No core is dumped, since a core of our process would contain forwarded messages.
    """
    try:
        import ctypes
        from _signal import SIG_UNBLOCK, pthread_kill
        from _thread import get_ident

        libc = ctypes.CDLL(None)
        if hasattr(libc, "prctl"):  # only Linux has it
            libc.prctl(_SET_DUMPABLE, 0, 0, 0, 0)
        libc.signal(signum, None)  # SIG_DFL; `signal.signal` works only in the main thread
        pthread_sigmask(SIG_UNBLOCK, (signum,))
        pthread_kill(get_ident(), signum)  # another thread may wait for the signal
    except (ImportError, OSError, AttributeError, ValueError, MemoryError):
        pass


def cannot_start(program: str, error: OSError, mask_text: "Mask | None" = None) -> str:
    """Returns a sentence that states why a program cannot be started, with a hint.

    Args:
        program: the program.
        error: the system's error.
        mask_text: removes secrets from the program's name; None to leave secrets in the name.
    """
    hint = ""
    if isinstance(error, FileNotFoundError):
        hint = "; give its absolute path" if "/" not in program else "; check the path"
        if os.path.exists(program):
            hint = "; the interpreter of its first line was not found"
    elif isinstance(error, PermissionError):
        hint = "; is it executable?"
    shown = repr(program)
    if mask_text is not None:
        try:
            shown = repr(mask_text(program))
        except Exception:  # memory or descriptors may not suffice to import the masking
            shown = "(hidden)"
    return f"cannot start the agent {shown}: {error.strerror}{hint}"


def _status(error: OSError) -> int:
    return 127 if isinstance(error, FileNotFoundError) else 126
