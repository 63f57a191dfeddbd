"""Starts ``acp-proxy web`` on a directory of recordings, for tests in a browser."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import quote, urlsplit

from attrs import frozen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_START_S, _END_S = 60, 10
"""How long the server may take to print its URL, and to end."""


@frozen
class LiveWindow:
    """A server that runs."""

    directory: Path
    """The directory of the recordings."""
    url: str
    """The URL that the server printed, with the token."""
    process: subprocess.Popen[str]

    @property
    def token(self) -> str:
        """The token that requests for data need."""
        return self.url.partition("#token=")[2]

    @property
    def origin(self) -> str:
        """The scheme, the host and the port of the server."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"

    def page(self, name: str = "", more: str = "") -> str:
        """Returns the URL of a page.

        Args:
            name: the file name of the recording to show; empty for the list of recordings.
            more: further members of the fragment, such as ``seq=3&view=list``.
        """
        path = f"/r/{quote(name)}" if name else "/"
        return f"{self.origin}{path}#token={self.token}{more and f'&{more}'}"

    def end(self) -> int:
        """Ends the server with SIGINT, as Ctrl-C does; returns its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(_END_S)


@contextlib.contextmanager
def serve_window(directory: Path, state: Path, *options: str) -> Iterator[LiveWindow]:
    """Serves recordings until the context ends.

    Args:
        directory: the directory of the recordings.
        state: the directory for the token, as ``XDG_STATE_HOME``. A server that is started again
            with the same directories has the same port and token.
        *options: further options of ``acp-proxy web``.
    """
    environ = os.environ | {"XDG_STATE_HOME": str(state), "ACP_PROXY_RECORDINGS": str(directory)}
    words = [sys.executable, "-m", "acp_proxy", "web", "--no-open", *options, str(directory)]
    with subprocess.Popen(
        words, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
        # A process of a shell's background job would ignore SIGINT.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], _START_S)[0], "expected a URL"
            window = LiveWindow(directory, process.stdout.readline().strip(), process)
            assert window.token, "expected a URL with a token"
            yield window
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
