"""Asks the application behind the live window, without a socket, and reads what it streams."""

from __future__ import annotations

import json
import math
import zlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import trio
from attrs import define, field, frozen

from acp_proxy.web.access import AddressFile, Guard, new_address
from acp_proxy.web.server import WindowApp
from tests.support.report_data import DecodedReport, decode_data

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

DEADLINE_S = 120.0
"""After which an answer fails to come; no test takes it for a measure of anything."""
PORT = 8017
HOST = f"127.0.0.1:{PORT}"


@frozen
class Answer:
    """A whole answer."""

    status: int
    headers: dict[str, str]
    body: bytes


@define(slots=False)
class Window:
    """A window on a directory, whose state is in a directory of its own.

    Attributes:
        log: the lines that the window has logged.
    """

    directory: Path
    state: Path
    unredacted: bool = False
    log: list[str] = field(factory=list)

    def __attrs_post_init__(self) -> None:
        self.file = AddressFile(self.state, self.directory, unredacted=False)
        self.address = new_address(PORT)
        self.file.write(self.address)
        guard = Guard(self.file, self.address, self.log.append)
        self.app = WindowApp(self.directory, guard, self.unredacted).app()

    def scope(
        self, path: str, headers: dict[str, str | None], query: str, **more: Any
    ) -> dict[str, Any]:
        """Returns the scope of a request as ASGI has it; a header that is None is not sent."""
        sent = {"host": HOST, "authorization": f"Bearer {self.address.token}", **headers}
        pairs = [(k.encode(), v.encode("latin-1")) for k, v in sent.items() if v is not None]
        return {
            "type": "http", "method": "GET", "path": path, "raw_path": quote(path).encode(),
            "query_string": query.encode(), "headers": pairs, "http_version": "1.1", **more,
        }  # fmt: skip

    async def get(
        self,
        path: str,
        headers: dict[str, str | None] | None = None,
        more: dict[str, Any] | None = None,
        **params: str,
    ) -> Answer:
        """Makes a request and waits for the whole answer.

        Args:
            path: the path.
            headers: headers beyond host and token, or instead of them.
            more: members of the scope.
            **params: of the query.
        """
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return await trio.sleep_forever()

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        scope = self.scope(path, headers or {}, urlencode(params), **(more or {}))
        with trio.fail_after(DEADLINE_S):
            await self.app(scope, receive, send)
        named = {k.decode(): v.decode("latin-1") for k, v in sent[0].get("headers", ())}
        body = b"".join(message["body"] for message in sent[1:])
        return Answer(sent[0].get("status", 0), named, body)

    @asynccontextmanager
    async def stream(self, path: str, **params: str) -> AsyncIterator[Stream]:
        """Opens a stream, and closes it at the end, as a tab does."""
        to_app, receiving = trio.open_memory_channel[dict[str, Any]](1)
        sending, from_app = trio.open_memory_channel[dict[str, Any]](math.inf)
        await to_app.send({"type": "http.request", "body": b"", "more_body": False})

        async def run() -> None:
            with sending:
                await self.app(
                    self.scope(path, {}, urlencode(params)), receiving.receive, sending.send
                )

        with trio.fail_after(DEADLINE_S):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run)
                start = await from_app.receive()
                assert start["status"] == 200
                yield Stream(from_app)
                await to_app.send({"type": "http.disconnect"})

    @asynccontextmanager
    async def page(self, name: str) -> AsyncIterator[LiveTab]:
        """Opens a page with a recording."""
        async with self.stream("/api/live", rec=name) as stream:
            yield LiveTab(self, stream)


@define
class Stream:
    """The body of an answer that has no end."""

    _chunks: trio.MemoryReceiveChannel[dict[str, Any]]
    _kept: bytearray = field(factory=bytearray)

    async def read(self, size: int) -> bytes:
        """Returns the next bytes.

        Raises:
            trio.EndOfChannel: the stream has ended.
        """
        while len(self._kept) < size:
            self._kept += (await self._chunks.receive())["body"]
        data = bytes(self._kept[:size])
        del self._kept[:size]
        return data

    async def line(self) -> Any:
        """Returns the next line of JSON; for its end, see `read`."""
        while (at := self._kept.find(b"\n")) < 0:
            self._kept += (await self._chunks.receive())["body"]
        return json.loads(await self.read(at + 1))


@define
class LiveTab:
    """The data of a recording that a page has.

    Attributes:
        hello: the first record.
        names: of all records, in order.
        index: the index blocks since the last reset.
        meta: the members of ``meta`` so far.
        entries: the index of the conversation.
        facts: the members of ``meta`` when the last entries came.
        waits: the last record about waits.
        resets: how often all rows were sent again.
        gone: why the stream has ended.
        moved: the new name of the recording.
    """

    window: Window
    _stream: Stream
    hello: dict[str, Any] = field(factory=dict)
    names: list[str] = field(factory=list)
    index: list[bytes] = field(factory=list)
    meta: dict[str, Any] = field(factory=dict)
    entries: dict[str, Any] = field(factory=dict)
    facts: dict[str, Any] = field(factory=dict)
    waits: dict[str, Any] = field(factory=dict)
    resets: int = 0
    gone: str = ""
    moved: str = ""
    everything: bytearray = field(factory=bytearray)

    async def until(self, holds: Callable[[LiveTab], Any]) -> None:
        """Reads records until something holds, at least one."""
        while True:
            try:
                await self._read()
            except trio.EndOfChannel:
                raise AssertionError(f"the stream has ended: {self.gone}") from None
            if holds(self):
                return

    @property
    def rows(self) -> int:
        """The number of rows so far."""
        return int(self.meta.get("rows", 0))

    @property
    def is_settled(self) -> bool:
        """Whether facts about all rows have come; earlier blocks of entries may be newer."""
        if not self.facts:
            return False
        summary = self.facts["summary"]
        return not summary["live"] or summary["checked"]["last_seq"] == self.rows

    @property
    def is_over(self) -> bool:
        """Whether the recording has ended, and the page knows everything about it."""
        is_live = self.waits.get("live", True) or not self.facts or self.facts["summary"]["live"]
        return not is_live

    async def _read(self) -> None:
        record = await self._stream.line()
        data = await self._stream.read(record["size"])
        name = record["name"]
        content = zlib.decompress(data) if data else b""
        self.everything += content + json.dumps(record).encode()
        self.names.append(name)
        match name:
            case "hello":
                self.hello = record
            case "index":
                self.index.append(content)
            case "meta":
                self.meta |= json.loads(content)
            case "entries":
                self._splice(json.loads(content))
                self.facts = self.meta.copy()
            case "waits":
                self.waits = record
            case "reset":
                self.resets += 1
                self.index, self.meta, self.entries, self.facts = [], {}, {}, {}
            case "gone":
                self.gone = record["why"]
            case "moved":
                self.moved = record["to"]
            case _:
                raise AssertionError(name)

    def _splice(self, news: dict[str, Any]) -> None:
        first = news.pop("first")
        kept = {name: self.entries.get(name, [])[:first] for name in news}
        assert all(len(values) == first for values in kept.values())
        self.entries = {name: [*kept[name], *values] for name, values in news.items()}

    async def block(self, name: str) -> Answer:
        """Asks for a block."""
        return await self.window.get("/api/block", stream=self.hello["stream"], name=name)

    async def decoded(self) -> DecodedReport:
        """Fetches all blocks, and decodes them as those of a report."""
        data = {f"i{n}": block for n, block in enumerate(self.index)}
        cells = 0
        for kind in "cpeg":
            count = 0
            while (answer := await self.block(f"{kind}{count}")).status == 200:
                data[f"{kind}{count}"] = zlib.decompress(answer.body)
                self.everything += data[f"{kind}{count}"]
                count += 1
            cells = count if kind == "c" else cells
        entries = {"first": 0, **self.entries}
        data |= {
            "entries": json.dumps(entries).encode(),
            "meta": json.dumps({**self.meta, "cell_blocks": cells}).encode(),
        }
        return decode_data(data, are_growing=True)


def unlike(live: list[dict[str, Any]], made: list[dict[str, Any]]) -> Iterator[tuple[Any, Any]]:
    """Yields the rows of a window that differ from those of a report.

    Values of a request that a page derives from a later answer are ignored if the window lacks
    them.
    """
    derived = ("response_seq", "latency_ns", "answer_session", "answer_terminal")
    for a, b in zip(live, made, strict=True):
        if a["kind"] == "request":
            b = {**b, **{name: None for name in derived if a[name] is None}}
        if a != b:
            yield a, b
