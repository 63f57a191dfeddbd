"""Contents of files that are known without reading any: from the recording, and from this run.

Nothing is ever read from the disk.
"""

from collections import OrderedDict
from typing import Any

from acp_proxy.engine.client.messages import member, params_of
from acp_proxy.engine.client.recorded_client import RecordedClient
from acp_proxy.engine.shared.bindings import Bindings
from acp_proxy.protocol.splice import Place

READ, WRITE = "fs/read_text_file", "fs/write_text_file"
_MOST = 64 << 20
"""Characters of contents that are kept."""


class KnownFiles:
    """Contents of this run by path, as the live agent names it."""

    def __init__(self) -> None:
        self._contents: OrderedDict[str, str] = OrderedDict()
        self._held = 0

    def keep(self, path: str, text: str) -> None:
        """Notes what a file contains now; forgets the oldest contents if they are too many.

        Args:
            path: of the file, as the live agent names it.
            text: the contents.
        """
        self._held += len(text) - len(self._contents.pop(path, ""))
        self._contents[path] = text
        while self._held > _MOST:
            self._held -= len(self._contents.popitem(last=False)[1])

    def content(self, path: str) -> str | None:
        """Returns what a file contains; None if that is unknown."""
        return self._contents.get(path)


class RecordedFiles:
    """Contents that the recorded client sent; they are looked up at the first need.

    Args:
        recording: the recording.
        bindings: the live names of recorded values.
    """

    def __init__(self, recording: RecordedClient, bindings: Bindings) -> None:
        self._recording = recording
        self._bindings = bindings
        self._contents: dict[str, str] | None = None

    def content(self, path: str) -> str | None:
        """Returns what a file contained; None if that is unknown."""
        if self._contents is None:
            self._contents = self._read()
        return self._contents.get(path)

    def _read(self) -> dict[str, str]:
        found: dict[str, str] = {}
        messages = self._recording.messages
        for lane in self._recording.lanes.values():
            for request in lane.requests.of(READ):
                reply = self._recording.replies.get(request.ask.exchange)
                if reply is None:
                    continue
                params = params_of(messages.request(request))
                path = params.get("path")
                text = member(member(messages.sent(reply.step), "result"), "content")
                if isinstance(path, str) and isinstance(text, str) and is_whole(params):
                    found.setdefault(self._bindings.live(Place.PATH, path), text)
        return found


def part(text: str, params: dict[str, Any]) -> str:
    """Returns the lines of a text that a request asks for.

    Args:
        text: the text.
        params: of the request: ``limit`` lines, from the 1-based ``line`` on.
    """
    line, limit = params.get("line"), params.get("limit")
    if line is None and limit is None:
        return text
    first = max(0, line - 1) if isinstance(line, int) else 0
    lines = text.split("\n")
    last = first + limit if isinstance(limit, int) else len(lines)
    shown = "\n".join(lines[first:last])
    return shown + "\n" if last < len(lines) and shown else shown


def is_whole(params: dict[str, Any]) -> bool:
    """Whether a request asks for all of a file."""
    return params.get("line") in (None, 0, 1) and params.get("limit") is None
