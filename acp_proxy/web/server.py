"""Serves the live window on the loopback interface: one page, and the data that the page requests.

Recordings are only read. A search, a comparison and a saved copy are the outputs of commands in
other processes, so that a long search does not delay other requests.
"""

import os
import re
import signal
import socket
import threading
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

import trio
from attrs import define, field
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState
from hypercorn.utils import wrap_app
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from acp_proxy.report.page import window_page
from acp_proxy.web.access import Guard, is_data
from acp_proxy.web.list_entry import list_entry
from acp_proxy.web.live_page import LivePage
from acp_proxy.web.recordings_feed import RecordingsFeed, name_of, named
from acp_proxy.web.streaming import BYTES, HEADERS, BrokenOff, CommandOutput

_BLOCK = re.compile(r"[cpeg](?:0|[1-9][0-9]{0,8})")
_MOST_STREAMS = 64
"""The largest number of requests for data that are answered at the same time."""
_END_S = 0.3
"""How long the server may take to end after Ctrl-C, in seconds."""


@define
class WindowApp:
    """The application behind the window."""

    directory: Path
    """The directory with the recordings."""
    guard: Guard
    """Decides which requests are answered."""
    unredacted: bool
    """Whether secrets are shown."""
    _pages: dict[str, LivePage] = field(factory=dict)
    _streams: int = 0

    def app(self) -> Any:
        """Returns the application; the guard examines each request first."""
        answers = {
            "/": self.shell, "/r/{name:path}": self.shell, "/proof": self.proof,
            "/api/recordings": self.recordings, "/api/live": self.live, "/api/block": self.block,
            "/api/search": self.search, "/api/compare": self.compare, "/api/save": self.save,
        }  # fmt: skip
        app = Starlette(
            routes=[Route(path, answer) for path, answer in answers.items()],
            exception_handlers={HTTPException: _failed, Exception: _failed},
        )
        app.router.redirect_slashes = False

        async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                return await send({"type": "websocket.close"})
            pairs = [(k.decode("latin-1"), v.decode("latin-1")) for k, v in scope["headers"]]
            needs_token = is_data(scope["path"])
            refused = self.guard.refusal(scope["method"], scope["path"], dict(pairs))
            if refused is None and scope["http_version"] not in ("1.0", "1.1"):
                refused = HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "it is not HTTP/1.1"
            if refused is None and needs_token and self._streams >= _MOST_STREAMS:
                refused = HTTPStatus.SERVICE_UNAVAILABLE, "too many pages are open"
            if refused is not None:
                answer = PlainTextResponse(f"{refused[1]}\n", refused[0], HEADERS)
                return await answer(scope, receive, send)
            self._streams += needs_token
            try:
                await app(scope, receive, send)
            except Exception as e:
                # The page says that an answer was broken off; the server closes the connection.
                if not (isinstance(e, ExceptionGroup) and e.split(BrokenOff)[1] is None):
                    self.guard.note(f"a request failed by {type(e).__name__}")
                raise
            finally:
                self._streams -= needs_token

        return guarded

    async def shell(self, _request: Request) -> Response:
        """Answers with the page. Its script then requests the data, with the token."""
        return Response(window_page(), headers=HEADERS, media_type="text/html")

    async def proof(self, request: Request) -> Response:
        """Proves that this server has the token, before anybody sends the token."""
        proof = self.guard.prove(request.query_params.get("challenge", ""))
        if proof is None:
            raise HTTPException(400, "expected challenge=HEX")
        return JSONResponse({"proof": proof}, headers=HEADERS)

    async def recordings(self, _request: Request) -> Any:
        """Answers with the list of recordings, and then with each change of the list."""
        describe = partial(list_entry, unredacted=self.unredacted)
        feed = RecordingsFeed(self.directory, describe, unredacted=self.unredacted)
        return StreamingResponse(feed.lines(), headers=HEADERS, media_type=BYTES)

    async def live(self, request: Request) -> Any:
        """Answers with a recording as it grows."""
        path = self._named(request, "rec")
        return LivePage(path, self._pages, unredacted=self.unredacted)

    async def block(self, request: Request) -> Response:
        """Answers with a block of an open page: cells, lines, entries or an image."""
        page = self._pages.get(request.query_params.get("stream", ""))
        name = request.query_params.get("name", "")
        if page is None or not _BLOCK.fullmatch(name):
            raise HTTPException(410, "the page has lost its connection")
        if (data := await page.block(name)) is None:
            raise HTTPException(404, f"there is no block {name}")
        return Response(data, headers=HEADERS)

    async def search(self, request: Request) -> Any:
        """Answers with the output of ``acp-proxy search --json``."""
        text = request.query_params.get("q", "")
        if "\0" in text:
            raise HTTPException(400, "expected a text without the character NUL")
        words = ["--json", "--", text, str(self.directory)]
        return self._output("search", *words, complete=(0, 1))

    async def compare(self, request: Request) -> Any:
        """Answers with the page of ``acp-proxy report A --against B``."""
        a, b = (str(self._named(request, name)) for name in "ab")
        return self._output("report", a, "--against", b, "-o", "-", kind="text/html")

    async def save(self, request: Request) -> Any:
        """Answers with the output of ``acp-proxy report`` or ``acp-proxy export``."""
        path = self._named(request, "rec")
        stem = Path(name_of(path)).stem
        if request.query_params.get("form") == "text":
            return self._output("export", str(path), file=f"{stem}.jsonl")
        return self._output("report", str(path), "-o", "-", file=f"{stem}.html")

    def _named(self, request: Request, parameter: str) -> Path:
        """Returns the recording that a request names. A name is looked up, never put in a path."""
        name = request.query_params.get(parameter, "")
        known = named(self.directory)
        if name not in known:
            raise HTTPException(404, f"there is no recording {name!r:.200} in this window")
        return known[name]

    def _output(
        self, *words: str, kind: str = "", file: str = "", complete: tuple[int, ...] = (0,)
    ) -> CommandOutput:
        """Answers with what a command prints.

        Args:
            *words: the command and its arguments.
            kind: the media type of the output.
            file: the name of the file in which the page saves the output.
            complete: the exit codes with which the output is complete.
        """
        unredacted = ["--unredacted"] if self.unredacted else []
        headers = {"acp-file": quote(file)} if file else {}
        headers |= {"content-type": kind} if kind else {}
        return CommandOutput([*unredacted, *words], headers, complete)


async def _failed(_request: Request, error: Exception) -> Response:
    status, words = HTTPStatus.INTERNAL_SERVER_ERROR.value, "the window cannot answer"
    if isinstance(error, HTTPException):
        status, words = error.status_code, error.detail
    return PlainTextResponse(f"{words}\n", status, HEADERS)


def run(window: WindowApp, listener: socket.socket) -> None:
    """Serves a window until Ctrl-C.

    Args:
        window: the window.
        listener: a socket that listens on the loopback interface; the server closes it.
    """
    trio.run(_serve, window, listener)


async def _serve(window: WindowApp, listener: socket.socket) -> None:
    config = Config()
    config.errorlog = config.accesslog = None
    config.include_server_header = False
    app, context = wrap_app(window.app(), config.wsgi_max_body_size, "asgi"), WorkerContext(None)

    async def answer(stream: Any) -> None:
        # `hypercorn.trio.serve` would end if any program on this machine sent it, for instance, a
        # bad upgrade to HTTP/2.
        with suppress(Exception):
            await TCPServer(app, config, context, ConnectionState({}), stream)

    listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(listener))]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, answer, listeners)
        await _interrupted()
        # Hypercorn does not give up an answer that its client does not read.
        last = threading.Timer(_END_S, os._exit, [128 + signal.SIGINT])
        last.daemon = True
        last.start()
        nursery.cancel_scope.cancel()


async def _interrupted() -> None:
    """Waits for Ctrl-C. If the process was started with SIGINT ignored, never returns."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        await trio.sleep_forever()
    # Hypercorn would lose an exception that Ctrl-C raises while it answers a request.
    with trio.open_signal_receiver(signal.SIGINT) as signals:
        await anext(signals)
