"""Contents of files that are known from the recording and from this run.

Files are never read from the disk.
"""

from collections import OrderedDict
from typing import Any

from acp_proxy.base.limits import KEPT_CONTENTS
from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.playback.verify.recorded_client import RecordedClient
from acp_proxy.protocol.json_text import member, params_of
from acp_proxy.protocol.typed_places import Place

READ, WRITE = "fs/read_text_file", "fs/write_text_file"


class KnownFiles:
    """The known contents of files by live path; the recording is read when it is first needed."""

    def __init__(self, recording: RecordedClient, bindings: Bindings) -> None:
        self._recording = recording
        self._bindings = bindings
        self._of_run: OrderedDict[str, str] = OrderedDict()
        self._held = 0
        self._recorded: dict[str, str] | None = None

    def learn(self, method: str, request: Any, answer: Any) -> None:
        """Learns the contents of a file from an answered request that shows the whole file.

        The oldest contents are forgotten if there are too many.

        Args:
            method: the method of the request, `READ` or `WRITE`.
            request: the request, decoded.
            answer: the answer, decoded.
        """
        if (shown := _shown(method, params_of(request), answer)) is None:
            return
        path, text = shown
        self._held += len(text) - len(self._of_run.pop(path, ""))
        self._of_run[path] = text
        while self._held > KEPT_CONTENTS:
            self._held -= len(self._of_run.popitem(last=False)[1])

    def content(self, request: Any) -> str | None:
        """Returns the content that a read request asks for; None if the content is unknown."""
        params = params_of(request)
        path = params.get("path")
        if not isinstance(path, str):
            return None
        text = self._of_run.get(path)
        if text is None:
            if self._recorded is None:
                self._recorded = self._read()
            text = self._recorded.get(path)
        return None if text is None else _part(text, params)

    def _read(self) -> dict[str, str]:
        """Returns for each file the first contents that the recorded client sent.

        Requests that the live agent has already made are left out.
        """
        contents: dict[str, str] = {}
        messages = self._recording.messages
        for lane in self._recording.lanes.values():
            for request in lane.requests.of(READ):
                reply = self._recording.replies.get(request.ask.exchange)
                if reply is not None:
                    params = params_of(messages.request(request))
                    if shown := _shown(READ, params, messages.sent(reply.step)):
                        path, text = shown
                        contents.setdefault(self._bindings.live(Place.PATH, path), text)
        return contents


def _shown(method: str, params: dict[str, Any], answer: Any) -> tuple[str, str] | None:
    """Returns the path and the whole content of a file that was read or written."""
    is_part = params.get("line") not in (None, 0, 1) or params.get("limit") is not None
    if method == READ and is_part:
        return None
    path = params.get("path")
    text = member(answer, "result", "content") if method == READ else params.get("content")
    return (path, text) if isinstance(path, str) and isinstance(text, str) else None


def _part(text: str, params: dict[str, Any]) -> str:
    """Returns ``limit`` lines of a text, starting at ``line``, which counts from 1."""
    line, limit = params.get("line"), params.get("limit")
    if line is None and limit is None:
        return text
    first = max(0, line - 1) if isinstance(line, int) else 0
    lines = text.split("\n")
    last = first + limit if isinstance(limit, int) else len(lines)
    shown = "\n".join(lines[first:last])
    return shown + "\n" if last < len(lines) and shown else shown
