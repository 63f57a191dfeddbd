"""Sends one recording to one page: its rows, the facts about it, and who has to act."""

import json
import math
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

import trio
from starlette.types import Receive, Scope, Send

from acp_proxy.base.errors import AcpProxyError, UnreadableRecording
from acp_proxy.base.forms import converter
from acp_proxy.protocol.json_text import encode_json
from acp_proxy.recording.file_names import LOG_SUFFIX
from acp_proxy.report.data_blocks import compressed
from acp_proxy.report.report_model import with_clock
from acp_proxy.store.files.directory import paths, read_id_and_note
from acp_proxy.web.changing_facts import ChangingFacts, RecordingFacts, Stopped
from acp_proxy.web.growing_rows import GrowingRows
from acp_proxy.web.recordings_feed import name_of, state_of
from acp_proxy.web.streaming import begin, piece, while_open

_NEXT_S, _POLL_S, _REST_S = 0.1, 0.15, 2.0
"""The pause between two checks of a recording, in seconds: `_REST_S` if no recorder runs, `_NEXT_S`
if the log has grown since the previous check, otherwise `_POLL_S`."""
_WAITS_S = 0.4
"""The shortest time, in seconds, between two computations of who has to act."""
_LEAST_S, _SHARE = 0.25, 3
"""The pause between two readings of the facts: `_LEAST_S` seconds, but at least `_SHARE` times the
processor time of the latest reading. If the recording is opened again, for example after its
recorder has ended, the pause ends early."""
_OLD_S, _OLD_SHARE = 10.0, 300
"""The seconds after which the facts about a running recording are read again without new rows,
since silences grow. The time is at least `_OLD_SHARE` times that of the latest reading."""
_UNKNOWN: dict[str, Any] = {
    "payloads": True, "entries": 0, "images": [], "filter": "", "turn": None, "stats": {},
    "waterfalls": [], "known_labels_complete": True, "last_turn": 0, "pauses": [], "facts": [],
    "verdict": None, "partial": True,
}  # fmt: skip
"""The members of ``meta`` about the whole recording, before the whole recording was read."""
_OF_FACTS = trio.CapacityLimiter(math.inf)
"""The limit of the threads that read facts. They wait for threads that read rows. If both kinds
had the same limit, the first kind could use it up, and then all threads would wait."""
_numbers = count(1)


class LivePage:
    """The response to an open page that shows a recording; it ends when the page is closed.

    Args:
        path: the recording.
        pages: all open pages, by their numbers; the page adds and removes itself.
        unredacted: whether secrets are shown.
    """

    def __init__(self, path: Path, pages: "dict[str, LivePage]", *, unredacted: bool) -> None:
        self._path, self._unredacted, self._pages = path, unredacted, pages
        self._number = str(next(_numbers))
        self._rows: Any = None
        """The `GrowingRows`, as soon as the recording is open."""
        self._facts: ChangingFacts | None = None
        self._opened: ChangingFacts | None = None
        """The facts that may be read again; `_facts` has the blocks that the page may ask for."""
        self._news: RecordingFacts | None = None
        """The latest facts that were read but not sent yet."""
        self._outdated = trio.Event()
        """Set when the facts have to be read anew by a new reader; then replaced by a new event."""
        self._is_closed = False
        self._took = 0.0
        """The processor time, in seconds, of the latest reading of the facts."""
        self._reading = trio.Lock()
        """Held while the rows are read."""
        self._use_of_rows, self._use_of_facts = Lock(), Lock()
        """Held by a thread while it reads rows or facts, even if the page has been closed."""
        self._pausing = Event()
        """Set while no rows are being read or sent. A thread that reads facts waits for it."""
        self._grown, self._woken = trio.Event(), trio.Event()
        """`_grown` is set when there are rows that the facts do not include; `_woken` is set when
        there are new facts."""
        self._send: Send

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Serves the page until the page is closed or the recording is gone."""
        self._send = send
        self._pages[self._number] = self
        try:
            await begin(send)
            await while_open(receive, self._work)
        finally:
            self._is_closed = True
            self._pausing.set()
            del self._pages[self._number]
            Thread(target=self._close, daemon=True).start()
        await piece(send, b"", is_last=True)

    async def _work(self) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._keep_facts)
            await self._record("gone", why=await self._serve())
            nursery.cancel_scope.cancel()

    def _close(self) -> None:
        """Closes the recording as soon as no thread reads it any more."""
        with self._use_of_rows:
            if self._rows is not None:
                self._rows.reader.close()
        with self._use_of_facts:
            if self._opened is not None:
                self._opened.close()

    async def block(self, name: str) -> bytes | None:
        """Returns a block by its name; None if there is no such block.

        Args:
            name: a letter and a number, as in `docs/report-data.md`.
        """
        if name[0] in "eg":
            return None if self._facts is None else self._facts.block(name)
        data: bytes | None = await self._read(lambda: self._rows.block(name))
        return data

    async def _read(self, work: Callable[[], Any]) -> Any:
        """Runs, in a thread, a function that reads rows; only one such function runs at a time."""
        async with self._reading:
            return await _in_thread(self._use, work)

    def _use(self, work: Callable[[], Any]) -> Any:
        with self._use_of_rows:
            return None if self._is_closed else work()

    async def _serve(self) -> str:
        """Sends the recording until it is gone; returns why it is gone."""
        identity, earlier = None, None
        while True:
            try:
                state = state_of(self._path)
                rows, is_continued = await _in_thread(self._open, earlier)
                async with self._reading:
                    self._rows = rows
                identity = rows.reader.recording.id
                if earlier is None:
                    hello = {"live": rows.reader.live, "unredacted": self._unredacted}
                    await self._record("hello", stream=self._number, path=str(self._path), **hello)
                else:
                    earlier.reader.close()
                if is_continued:
                    self._read_facts_anew()
                else:
                    await self._begin(is_first=earlier is None)
                earlier = rows
                await self._follow(state)
                self._outdated.set()  # facts that are being read now would soon be read again
            except AcpProxyError as e:
                if state_of(self._path):
                    return str(e)
            if not state_of(self._path):
                moved = await _in_thread(self._find, identity)
                if moved is None:
                    return f"{self._path.name} is no longer there; this page keeps what it has"
                self._path = moved
                await self._record("moved", to=name_of(moved), path=str(moved))

    def _open(self, earlier: GrowingRows | None) -> tuple[GrowingRows, bool]:
        """Opens the recording. Also returns whether the rows that were sent are unchanged."""
        rows = GrowingRows(self._path, unredacted=self._unredacted)
        try:
            if self._is_closed:
                raise Stopped("the page was closed")
            return rows, earlier is not None and rows.continues(earlier)
        except AcpProxyError:
            rows.reader.close()
            raise

    def _find(self, identity: str | None) -> Path | None:
        """Returns the path to which the recording was moved within its directory, or None."""
        for path in paths(self._path.parent):
            if identity is not None and (read_id_and_note(path) or ("",))[0] == identity:
                return path
        return None

    async def _begin(self, *, is_first: bool) -> None:
        """Prepares to send all rows from the first one on. The page forgets the rows it has."""
        self._facts = None
        self._read_facts_anew()
        if not is_first:
            await self._record("reset")
        reader = self._rows.reader
        recording = reader.recording
        self._members = -1
        """The number of batches whose messages were sent to the page; -1 before any message."""
        has_times = recording.knows("durations")
        summary = {"recording": converter.unstructure(recording), "live": reader.live}
        meta = {
            **_UNKNOWN,
            "name": recording.name,
            "masked": reader.is_masked or reader.masked_rows is not None,
            "unredacted": reader.unredacted,
            "started_at": with_clock(recording).known_start if has_times else None,
            "has_times": has_times,
            "step_ns": recording.step_ns,
            "summary": {
                **summary,
                "turns": [],
                "problems": [],
                "faults": [],
                "checked": {"is_whole": True, "last_seq": 0},
            },
        }
        await self._send_meta(meta)

    def _read_facts_anew(self) -> None:
        """Makes `_keep_facts` read all facts anew. Until then, the page can get the old blocks."""
        self._news = None
        self._outdated.set()
        self._outdated = trio.Event()
        self._grown.set()

    async def _follow(self, state: list[tuple[str, int, int, int]]) -> None:
        """Sends rows and facts until the recorder ends or, without recorder, the files change.

        Args:
            state: the state of the files before they were opened.
        """
        rows, reader = self._rows, self._rows.reader
        asked_at, was_live, waits, is_asked = -1.0, reader.live, None, False
        size: int | None = None
        next_s = 0.0
        while True:
            self._pausing.clear()
            known, size = size, _log_size(self._path)
            if size is None or size != known or trio.current_time() >= next_s:
                next_s = trio.current_time() + _REST_S
                await self._read(reader.refresh)
                if rows.has_changed:
                    await self._again()
                is_new = await self._send_rows()
                is_asked = is_asked and not is_new
            await self._send_news()
            if not is_asked and trio.current_time() - asked_at >= _WAITS_S:
                is_asked, asked_at = True, trio.current_time()
                present = converter.unstructure(await self._read(rows.waits.waits))
                if (present, reader.live) != waits:
                    waits, now_ns = (present, reader.live), rows.waits.elapsed_ns()
                    await self._record("waits", now_ns=now_ns, live=reader.live, waits=present)
            if not reader.live and (was_live or state_of(self._path) != state):
                return
            self._pausing.set()
            pause = _POLL_S if size == known else _NEXT_S
            with trio.move_on_after(pause if reader.live else _REST_S):
                await self._woken.wait()

    async def _again(self) -> None:
        """Sends all rows again, since some rows have changed."""
        await self._read(self._rows.begin)
        await self._begin(is_first=False)

    async def _send_rows(self) -> bool:
        """Sends all rows that were not sent yet; returns whether there were any."""
        known = self._rows.last
        while (block := await self._read(self._rows.next_block)) is not None:
            await self._record("index", block)
            await self._send_meta({})
            await self._send_news()
        if self._rows.last > known and self._rows.reader.live:
            self._grown.set()
        return bool(self._rows.last > known)

    async def _send_news(self) -> None:
        """Sends the new facts, if there are any and the page has all rows that they are about."""
        news = self._news
        if news is None or news.last > self._rows.last:
            return
        self._news, self._woken = None, trio.Event()
        await self._send_meta(news.meta)
        await self._record("entries", news.entries)

    async def _send_meta(self, facts: dict[str, Any]) -> None:
        """Sends facts, and counts of the rows so far. The page keeps its other facts."""
        counts = self._rows.columns.counts()
        members = len(counts["members"])
        if members == self._members:
            del counts["members"]
        self._members = members
        meta = {**facts, **counts, "rows_in_recording": counts["rows"]}
        await self._record("meta", compressed(encode_json(meta)))

    async def _keep_facts(self) -> None:
        """Reads the facts after new rows, or now and then while a recorder runs; pauses between."""
        outdated, took = self._outdated, 0.0
        while True:
            is_live = self._rows is not None and self._rows.reader.live
            with trio.move_on_after(max(_OLD_S, _OLD_SHARE * took) if is_live else math.inf):
                await self._grown.wait()
            self._grown = trio.Event()
            if self._outdated.is_set():  # rows are read again first
                continue
            earlier = self._facts if outdated is self._outdated else None
            outdated = self._outdated
            # The reader of the rows reports it if the recording is unreadable.
            with suppress(Stopped, UnreadableRecording):
                facts, news = await _in_thread(self._read_facts, earlier, limiter=_OF_FACTS)
                if not outdated.is_set():
                    self._facts, self._news = facts, news
                    self._woken.set()
            paused_at, took = trio.current_time(), self._took
            while not (outdated.is_set() or self._is_due(took, paused_at)):
                await trio.sleep(_POLL_S)

    def _is_due(self, took: float, paused_at: float) -> bool:
        """Whether to read the facts again: the pause is over, and the latest facts were sent.

        A reading leaves out entries that the previous reading had, so each reading must be sent.
        """
        pause = max(_LEAST_S, _SHARE * took)
        return self._news is None and trio.current_time() >= paused_at + pause

    def _read_facts(self, facts: ChangingFacts | None) -> tuple[ChangingFacts, RecordingFacts]:
        with self._use_of_facts:
            if facts is None:
                if self._opened is not None:
                    self._opened.close()
                must_stop = partial(self._must_stop, self._outdated)
                facts = self._opened = ChangingFacts(
                    self._path, unredacted=self._unredacted, must_stop=must_stop
                )
            began = time.thread_time()
            try:
                return facts, facts.read()
            finally:
                self._took = time.thread_time() - began
                if self._is_closed:
                    facts.close()

    def _must_stop(self, outdated: trio.Event) -> bool:
        """Whether to stop reading facts. While rows are being read or sent, waits for the end."""
        self._pausing.wait()
        return self._is_closed or outdated.is_set()

    async def _record(self, name: str, data: bytes = b"", **members: Any) -> None:
        """Sends one record: a line of JSON, and then bytes."""
        line = json.dumps({"name": name, "size": len(data), **members})
        body = f"{line}\n".encode() + data
        await piece(self._send, body)


def _log_size(path: Path) -> int | None:
    """Returns the size of a recording's log; None without a log."""
    with suppress(OSError):
        return Path(f"{path}{LOG_SUFFIX}").stat().st_size
    return None


async def _in_thread(work: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Calls a function in a thread. If the page is closed, does not wait for the result."""
    return await trio.to_thread.run_sync(work, *values, abandon_on_cancel=True, **options)
