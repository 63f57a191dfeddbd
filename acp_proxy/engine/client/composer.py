"""Writes a recorded frame with the live agent's sessions, ids and options.

Bytes stay as they were recorded but for values at typed places; JSON is never serialized again.
"""

import json
from collections.abc import Mapping

from acp_proxy.engine.client.client_frames import ClientFrame
from acp_proxy.engine.shared.bindings import Bindings
from acp_proxy.engine.shared.line_rewriter import LineRewriter, members_of, quoted
from acp_proxy.engine.shared.steps import Wire
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.splice import Place, spans, splice

_ANY = "surrogateescape"
_OPTION = {"result": {"outcome": {"optionId": Place.FREE}}}


class Composer:
    """Writes frames.

    Args:
        bindings: the live names of recorded values.
        rewrite_text: whether to replace directories in texts, too.
    """

    def __init__(self, bindings: Bindings, *, rewrite_text: bool) -> None:
        self._writer = LineRewriter(bindings, rewrite_text=rewrite_text)

    def written(
        self, frame: ClientFrame, wire: Wire, ids: Mapping[str, str], options: Mapping[str, str]
    ) -> bytes:
        """Returns a frame as a line, with its end.

        Args:
            frame: the frame; of a batch, only the members that are its steps are written.
            wire: the frame as it was recorded.
            ids: the live ids of the requests that it answers, by the recorded tokens.
            options: the live options that it selects, by the recorded tokens of the requests.
        """
        if frame.steps[0].member is not None:
            wire = _part(frame, wire)
        if options:
            text = wire.raw.decode("utf-8", _ANY)
            if frame.steps[0].member is None:
                text = _chosen(text, options)
            else:
                members = [(s, _chosen(text[s.start : s.end], options)) for s in members_of(text)]
                text = splice(text, members)
            wire = wire._replace(raw=text.encode("utf-8", _ANY))
        return self._writer.written(wire, dict(ids)) + (wire.newline or "\n").encode()


def _part(frame: ClientFrame, wire: Wire) -> Wire:
    """Leaves out of a batch what is sent later, if anything is."""
    text = wire.raw.decode("utf-8", _ANY)
    members = members_of(text)
    if len(frame.steps) == len(members):
        return wire
    kept = (members[step.member] for step in frame.steps if step.member is not None)
    part = ",".join(text[span.start : span.end] for span in kept)
    return wire._replace(raw=f"[{part}]".encode("utf-8", _ANY))


def _chosen(text: str, options: Mapping[str, str]) -> str:
    """Puts the live option into an answer."""
    option = options.get(read(text.encode("utf-8", _ANY)).rpc_id or "")
    if option is None:
        return text
    replaced = [(s, quoted(option)) for s in spans(text, _OPTION)]
    same = all(json.loads(text[s.start : s.end]) == option for s, _ in replaced)
    return text if same else splice(text, replaced)
