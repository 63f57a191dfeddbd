"""Shows a recording in a live window while it is made, as an open tab does."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from bench.build import BenchError

if TYPE_CHECKING:
    from collections.abc import Iterator

_POLL_S = 0.01
_END_S = 10
_READ_SIZE = 1 << 16


@contextlib.contextmanager
def watched(folder: Path, name: str) -> Iterator[None]:
    """Serve a directory, and read the stream of one recording as soon as the recording exists.

    Raises:
        BenchError: the window was not served, or the stream did not bring anything.
    """
    program = Path(sys.executable).with_name("acp-proxy")
    words = [str(program), "web", "--no-open", str(folder)]
    environ = {**os.environ, "XDG_STATE_HOME": str(folder / "state")}
    with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = urlsplit(server.stdout.readline().strip())
            if not url.port:
                raise BenchError("acp-proxy web has printed no URL")
            tab = _Tab(folder / f"{name}.log", url.port, url.fragment.removeprefix("token="))
            yield
            if not tab.has_come.wait(_END_S):
                raise BenchError("the live window has shown nothing")
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(_END_S)


class _Tab:
    """A thread that reads a stream of the live window, until the server ends.

    Attributes:
        has_come: set when the first bytes have come.
    """

    def __init__(self, log: Path, port: int, token: str) -> None:
        self.has_come = threading.Event()
        self._log, self._port, self._token = log, port, token
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while not self._log.exists():
            time.sleep(_POLL_S)
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        query = urlencode({"rec": self._log.name.removesuffix(".log")})
        headers = {"Authorization": f"Bearer {self._token}"}
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            connection.request("GET", f"/api/live?{query}", headers=headers)
            response = connection.getresponse()
            while response.read1(_READ_SIZE):
                self.has_come.set()
        connection.close()
