"""Which signals are ours to act on."""

import signal


def heeded(*signums: signal.Signals) -> list[signal.Signals]:
    """Returns the signals that were not ignored when we were started, as SIGHUP is with `nohup`.

    What something other than Python handles is not ours either: nobody could put that back.
    """
    return [s for s in signums if signal.getsignal(s) not in (signal.SIG_IGN, None)]
