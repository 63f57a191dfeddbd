"""Writes the signals that it and its child receive into files, until SIGUSR1.

Usage: ``signal_notes.py NOTES``; the child's file is ``NOTES.child``. Both processes print
``ready`` when they can note all signals. Each signal is a line. A signal that arrives after an
earlier one was noted comes after it in the file, so SIGUSR1 is the last line.
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
    """Notes signals in a file until SIGUSR1."""
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
