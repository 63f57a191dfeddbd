"""The program's entry: `record` starts at once, every other command through click."""

import os
import sys

from acp_proxy.record import capture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acp_proxy.record.capture.record_options import RecordOptions
    from acp_proxy.record.capture.relay import Relay

_MOST_YOUNG = 100_000
"""Objects after which the garbage collector looks for garbage; a short command makes fewer, nearly
all of which stay until it ends. With Python's own 700 it would look a hundred times."""


def main() -> None:
    """Runs ``acp-proxy``."""
    capture.leave_at_once()
    if sys.argv[1:2] == ["record"]:
        _start_recording()
    elif sys.argv[1:2] == ["replay"]:
        _block_signals()
    import gc  # late: nothing that `record` needs

    gc.set_threshold(_MOST_YOUNG)
    from acp_proxy.cli.main import cli

    try:
        cli(prog_name="acp-proxy")
    finally:
        gc.freeze()  # while it ends, Python need not look for garbage either


def _start_recording() -> None:
    """Records, unless there is a mistake in the options, which click then reports."""
    from acp_proxy.record.capture.record_options import parse

    try:
        from acp_proxy.record.capture.starter import record
    except ImportError:  # on Windows, where `cli.group` says what does not run
        return
    options = parse(sys.argv[2:], os.environ)
    if options is not None and _is_command(options):
        record(options, _supervise, _without_secrets)


def _block_signals() -> None:
    """Blocks what ends a replay, which unblocks it once it runs, and then reports."""
    try:
        from _signal import SIG_BLOCK, SIGHUP, SIGINT, SIGTERM, pthread_sigmask
    except ImportError:  # on Windows
        return
    pthread_sigmask(SIG_BLOCK, (SIGTERM, SIGINT, SIGHUP))


def _is_command(options: "RecordOptions") -> bool:
    """Whether the command can be executed; ``@NAME`` is replaced, unless no agent has this name."""
    if not options.command[0].startswith("@"):
        return True
    from acp_proxy.editors.known_agents import expanded
    from acp_proxy.record.capture.agent_lookup import replace_name

    command = replace_name(options.command, expanded)
    options.command = command or options.command
    return command is not None


def _supervise(relay: "Relay", options: "RecordOptions") -> None:
    """Imports the owner of a relay only once bytes flow."""
    from acp_proxy.record import supervise

    supervise(relay, options)


def _without_secrets(text: str) -> str:
    """Imports what masks only where something is to be masked."""
    from acp_proxy.cli.masking import without_secrets

    return without_secrets(text)
