"""The entry point of the program: starts `record` at once, and other commands through click."""

import os
import sys

from acp_proxy.record import capture, supervise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acp_proxy.record.capture.record_options import RecordOptions

_MOST_YOUNG = 100_000
"""The number of new objects after which the garbage collector runs.

Most commands make fewer objects, so the collector never runs. Python's default is 700.
"""


def main() -> None:
    """Runs ``acp-proxy``."""
    capture.leave_at_once()
    if sys.argv[1:2] == ["record"]:
        _start_recording()
    elif sys.argv[1:2] == ["replay"]:
        _block_signals()
    import gc  # late: `record` does not need it

    gc.set_threshold(_MOST_YOUNG)
    from acp_proxy.cli.main import cli

    try:
        cli(prog_name="acp-proxy")
    finally:
        gc.freeze()  # no garbage collection during the exit either


def _start_recording() -> None:
    """Starts `record`. If that is not possible, returns, so that click reports the error."""
    from acp_proxy.record.capture.record_options import parse

    try:
        from acp_proxy.record.capture.starter import record
    except ImportError:  # on Windows, where `cli.group` refuses the command
        return
    options = parse(sys.argv[2:], os.environ)
    if options is not None and _is_command(options):
        record(options, supervise, _without_secrets)


def _block_signals() -> None:
    """Blocks the signals that end a replay, until the replay is able to write its report."""
    try:
        from _signal import SIG_BLOCK, SIGHUP, SIGINT, SIGTERM, pthread_sigmask
    except ImportError:  # on Windows
        return
    pthread_sigmask(SIG_BLOCK, (SIGTERM, SIGINT, SIGHUP))


def _is_command(options: "RecordOptions") -> bool:
    """Replaces ``@NAME`` by a known agent's command. Returns True unless NAME is unknown."""
    if not options.command[0].startswith("@"):
        return True
    from acp_proxy.editors.known_agents import expanded
    from acp_proxy.record.capture.agent_lookup import replace_name

    command = replace_name(options.command, expanded)
    options.command = command or options.command
    return command is not None


def _without_secrets(text: str) -> str:
    """Masks a text; imports the code for masking only if something has to be masked."""
    from acp_proxy.cli.masking import without_secrets

    return without_secrets(text)
