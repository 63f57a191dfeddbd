"""Notes the signals that it and its child get, each in a file; both end after SIGUSR1.

Usage: ``signal_notes.py NOTES``; the child's file is ``NOTES.child``. Both say ``ready`` when no
signal can escape them any more. A signal that comes after another has been written down is written
down after it, so whoever sees SIGUSR1 there has seen all that came before.
"""

from __future__ import annotations

import os
import signal
import sys

NOTED = {
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGUSR1,
    signal.SIGUSR2,
}


def note(path: str) -> None:
    """Notes signals until SIGUSR1."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(1, b"ready\n")
    while True:
        signum = signal.sigwait(NOTED)
        os.write(fd, f"{signal.Signals(signum).name}\n".encode())
        if signum == signal.SIGUSR1:
            return


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, NOTED)
    child = os.fork()
    note(sys.argv[1] if child else f"{sys.argv[1]}.child")
    if child:
        os.waitpid(child, 0)
