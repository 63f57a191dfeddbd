"""Starts a daemon that keeps stdout and stderr open, and exits.

Usage: ``daemon.py PID``. The program writes the daemon's process id to the file PID, and prints
``left`` before it exits. The daemon has a session of processes of its own.
"""

from __future__ import annotations

import os
import signal
import sys

if __name__ == "__main__":
    told, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        os.close(0)
        os.write(tell, b"x")
        while True:
            signal.pause()
    else:
        os.read(told, 1)
        with open(sys.argv[1], "w") as file:
            file.write(str(pid))
        os.write(1, b"left\n")
