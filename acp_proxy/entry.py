"""The program's entry: `record` starts at once, every other command through click."""

import os
import sys

from acp_proxy import capture
from acp_proxy.capture.options import parse

try:
    from _signal import SIG_BLOCK, SIGHUP, SIGINT, SIGTERM, pthread_sigmask

    from acp_proxy.capture.starter import record
except ImportError:  # on Windows, where `cli.group` says what does not run
    _IS_POSIX = False
else:
    _IS_POSIX = True

TYPE_CHECKING = False
if TYPE_CHECKING:
    from acp_proxy.capture.options import RecordOptions
    from acp_proxy.capture.relay import Relay


def main() -> None:
    """Runs ``acp-proxy``."""
    capture.leave_at_once()
    if not _IS_POSIX:
        pass
    elif sys.argv[1:2] == ["record"]:
        options = parse(sys.argv[2:], os.environ)
        if options is not None and _is_command(options):
            record(options, _supervise, _without_secrets)
    elif sys.argv[1:2] == ["replay"]:  # it unblocks them when it runs, and then reports
        pthread_sigmask(SIG_BLOCK, (SIGTERM, SIGINT, SIGHUP))
    from acp_proxy.cli.main import cli

    cli(prog_name="acp-proxy")


def _is_command(options: "RecordOptions") -> bool:
    """Whether the command can be executed; ``@NAME`` is replaced, unless no agent has this name."""
    if not options.command[0].startswith("@"):
        return True
    from acp_proxy.capture.agent_lookup import replace_name
    from acp_proxy.known_agents import expanded

    command = replace_name(options.command, expanded)
    options.command = command or options.command
    return command is not None


def _supervise(relay: "Relay", options: "RecordOptions") -> None:
    """Imports the owner of a relay only once bytes flow."""
    from acp_proxy.runtime import supervise

    supervise(relay, options)


def _without_secrets(text: str) -> str:
    """Imports what masks only where something is to be masked."""
    from acp_proxy.cli.redaction import without_secrets

    return without_secrets(text)
