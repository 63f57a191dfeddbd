"""Logs bytes and then forwards them; imports only small modules of the standard library.

No module of this package may import a slow module: an editor waits for the imports before the
agent's first byte. A test lists the modules that the package may load.

Ctrl-C is handled here, before anything else is imported.
"""

import os
from _signal import SIGINT, default_int_handler, getsignal, signal


def leave_at_once() -> None:
    """Makes Ctrl-C end the process silently, if no handler for Ctrl-C is set.

    Without this function, Python raises an exception and prints a traceback.
    """
    if getsignal(SIGINT) is default_int_handler:
        signal(SIGINT, leave)


def leave(signum: int, _: object) -> None:
    """Handles a signal by ending the process."""
    os._exit(128 + signum)
