"""Writes the client's messages: recorded messages with live values, and unrecorded answers.

A recorded message keeps its bytes except for values at typed places. The unrecorded answers exist
so that no agent waits for ever.
"""

import json
from collections.abc import Mapping
from typing import Any

from acp_proxy.playback.events import Send
from acp_proxy.playback.shared.divergence import ERROR_CODE, Divergence
from acp_proxy.playback.shared.line_rewriter import (
    ANY_BYTES,
    LineRewriter,
    members_of,
    quoted,
    reply,
)
from acp_proxy.playback.verify.lane import ClientFrame
from acp_proxy.protocol.jsonrpc import read
from acp_proxy.protocol.permissions import is_draft, rejecting_option
from acp_proxy.protocol.typed_places import Place, spans, splice
from acp_proxy.recording.steps import Wire

_OPTION = {"result": {"outcome": {"optionId": Place.FREE}}}


def composed(
    frame: ClientFrame,
    wire: Wire,
    writer: LineRewriter,
    ids: dict[str, str],
    options: Mapping[str, str],
) -> bytes:
    """Returns a recorded frame with live values as a line, with its newline.

    Args:
        frame: the frame; of a batch, only the members that are steps of the frame are written.
        wire: the frame as it was recorded.
        writer: replaces recorded values by live values.
        ids: the live ids of the requests that the frame answers, by their recorded ids.
        options: the live options that the frame selects, by the recorded ids of the requests.
    """
    text = wire.raw.decode("utf-8", ANY_BYTES)
    if frame.steps[0].member is None:
        text = _chosen(text, options)
    else:
        text = _part(frame, text)
        members = [(s, _chosen(text[s.start : s.end], options)) for s in members_of(text)]
        text = splice(text, members)
    wire = wire._replace(raw=text.encode("utf-8", ANY_BYTES))
    return writer.written(wire, ids) + (wire.newline or "\n").encode()


def _part(frame: ClientFrame, text: str) -> str:
    """Returns a batch without the members that are sent later. Any other frame is unchanged."""
    members = members_of(text)
    if len(frame.steps) == len(members):
        return text
    kept = (members[step.member] for step in frame.steps if step.member is not None)
    return f"[{','.join(text[span.start : span.end] for span in kept)}]"


def _chosen(text: str, options: Mapping[str, str]) -> str:
    """Returns an answer in which the live option replaces the recorded option."""
    if not options:
        return text
    option = options.get(read(text.encode("utf-8", ANY_BYTES)).rpc_id or "")
    if option is None:
        return text
    replaced = [(s, quoted(option)) for s in spans(text, _OPTION)]
    same = all(json.loads(text[s.start : s.end]) == option for s, _ in replaced)
    return text if same else splice(text, replaced)


def refusal(token: str | None, divergence: Divergence) -> Send:
    """Returns the error that answers an unrecorded request.

    Args:
        token: the id of the request.
        divergence: the divergence that the error reports.
    """
    data = {
        "divergence": divergence.kind,
        "recorded": [miss.seq for miss in divergence.near_misses],
        "lane": divergence.lane,
    }
    error = {"code": ERROR_CODE, "message": f"verify: {divergence.summary}", "data": data}
    return reply(token, error, "error")


def cancellation(request: Any) -> dict[str, Any]:
    """Returns the result that answers a permission request of a cancelled turn."""
    return {"granted": False} if is_draft(request) else {"outcome": {"outcome": "cancelled"}}


def denial(request: Any) -> dict[str, Any]:
    """Returns the result that denies permission.

    The result selects an option that rejects. If the request offers no such option, the result is
    ``cancelled``. In the 1.0 draft the result has ``granted`` false.
    """
    option = rejecting_option(request)
    if option is None or is_draft(request):
        return cancellation(request)
    return {"outcome": {"outcome": "selected", "optionId": option}}
