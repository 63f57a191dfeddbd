"""``acp-proxy web``: the live window on recordings."""

import contextlib
import gc
import http.client
import json
import os
import secrets
import signal
import socket
import sys
from pathlib import Path
from urllib.parse import quote

import click

from acp_proxy.cli.group import Refusal, cli_command, recordings
from acp_proxy.cli.masking import is_unredacted, unredacted_option
from acp_proxy.cli.opening import find_recording, working_directory
from acp_proxy.cli.options import complete_recording
from acp_proxy.cli.screens.output import say, warn
from acp_proxy.store.files.directory import TEXT_SUFFIX
from acp_proxy.store.files.lookup import latest_running
from acp_proxy.web.access import (
    LOOPBACK,
    Address,
    AddressFile,
    Guard,
    new_address,
    state_directory,
)

_GARBAGE = 10_000, 10, 10
"""The thresholds of the garbage collector. (Most other commands end before it would run.)"""
_SWITCH_S = 0.0005
"""How long a thread that reads facts about a recording may block threads that read rows, in
seconds."""
_PATIENCE_S = 1.0
"""How long another window may take to answer, in seconds."""


@cli_command()
@click.argument("rec", required=False, shell_complete=complete_recording, metavar="[REC|DIR]")
@click.option("--port", type=click.IntRange(1, 65535), metavar="N",
              help="The port. By default, a free port, which is kept for later.")  # fmt: skip
@click.option("--open/--no-open", default=True, help="Whether to open the browser.")
@click.option("--new-token", is_flag=True, allow_from_autoenv=False,
              help="Make a new token; the old one is refused.")  # fmt: skip
@unredacted_option
def web(rec: str | None, port: int | None, open: bool, new_token: bool) -> None:  # noqa: A002
    """Watch chats while they run, and see all recordings, in a browser.

    The window shows who is waited for, problems as they appear, and each message as it comes. It
    only reads the files, so it does not slow a recorder down, and the recorder does not need it.

    Without REC, the window begins with the recording that runs in the current directory, or else
    with the newest recording that runs, or else with the list of recordings. With DIR, it shows the
    recordings of another directory.

    The window is served on this machine only, and opens only with the token in its URL. Port and
    token are kept for 30 days, so that a tab or a bookmark works again after a restart. Ctrl-C ends
    the server.

    Examples:
      acp-proxy web
          the chat that runs in this directory, or the list of recordings
      acp-proxy web 3f2a
          one recording; the start of its id is enough
      acp-proxy web --no-open --port 8017
          only print the URL, for a browser that is already open
    """
    from acp_proxy.web.recordings_feed import name_of

    directory, path = _shown(rec)
    page = "/" if path is None else f"/r/{quote(name_of(path))}"
    file = AddressFile(state_directory(os.environ), directory, unredacted=is_unredacted())
    try:
        known = file.read()
        if known is not None and port in (None, known.port) and _answers(known):
            if new_token:
                known = new_address(known.port)
                file.write(known)
            _show(file, known, page, is_opened=open)
            return
        with _listen(port or (known.port if known else 0), is_asked=port is not None) as listener:
            chosen = listener.getsockname()[1]
            if known is None or known.port != chosen or new_token:  # a new port has a new token
                known = new_address(chosen)
                file.write(known)
            _show(file, known, page, is_opened=open)
            _serve(directory, Guard(file, known, warn), listener)
    except OSError as e:
        raise Refusal(f"the window cannot be opened: {e}") from None


def _shown(rec: str | None) -> tuple[Path, Path | None]:
    """Returns the directory to show, and the recording to begin with (None for the list)."""
    if rec is None:
        directory = recordings().resolve()
        latest = latest_running(directory, working_directory())
        return directory, None if latest is None else latest.path
    if Path(rec).is_dir():
        return Path(rec).resolve(), None
    path = find_recording(rec)
    if not path.name.endswith((".db", TEXT_SUFFIX)):
        raise Refusal(f"expected a name that ends in .db or {TEXT_SUFFIX}, got {path.name}")
    return path.parent.resolve(), path


def _answers(address: Address) -> bool:
    """Whether a server runs at an address and proves that it knows the token of the address."""
    challenge = secrets.token_hex(32)
    with contextlib.suppress(OSError, ValueError, http.client.HTTPException, TypeError, KeyError):
        host, port = address.host.split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=_PATIENCE_S)
        with contextlib.closing(connection):
            connection.request("GET", f"/proof?challenge={challenge}")
            answer = json.loads(connection.getresponse().read(1000))
            return secrets.compare_digest(str(answer["proof"]), address.proof(challenge))
    return False


def _listen(port: int, *, is_asked: bool) -> socket.socket:
    """Returns a socket that listens on a port.

    Args:
        port: the port; 0 for any.
        is_asked: whether the user has chosen the port. If not, and the port is taken, the socket
            listens on any free port.

    Raises:
        Refusal: the chosen port is taken.
    """
    for chosen in (port, 0):
        try:
            return socket.create_server((LOOPBACK, chosen), backlog=socket.SOMAXCONN)
        except OSError as e:
            if is_asked:
                why = os.strerror(e.errno or 0)
                raise Refusal(f"expected a free port, got {port}: {why}") from None
    raise Refusal("no port of this machine is free")


def _show(file: AddressFile, address: Address, page: str, *, is_opened: bool) -> None:
    """Prints the URL of a page. If `is_opened`, also opens the page in the browser."""
    url = address.url(page)
    say(url)
    sys.stdout.flush()
    if is_opened:
        import webbrowser

        with contextlib.suppress(webbrowser.Error):
            if webbrowser.open(file.write_opener(url).as_uri()):
                return
        warn("no browser could be opened; open the URL by hand")


def _serve(directory: Path, guard: Guard, listener: socket.socket) -> None:
    """Serves the window until Ctrl-C."""
    from acp_proxy.web.server import WindowApp, run

    gc.freeze()
    gc.set_threshold(*_GARBAGE)
    sys.setswitchinterval(_SWITCH_S)
    run(WindowApp(directory, guard, is_unredacted()), listener)
    # The server takes Ctrl-C as its end. A thread that still reads a recording would abort the
    # interpreter's own end.
    os._exit(128 + signal.SIGINT)
