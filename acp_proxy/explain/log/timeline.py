"""Renders a frame or event as a line of the timeline: direction, method, latency and a preview."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from attrs import evolve, frozen

from acp_proxy.base.limits import PREVIEWED_LINE
from acp_proxy.base.wording import byte_size, duration, seconds
from acp_proxy.explain.describe.event_texts import describe_event
from acp_proxy.explain.describe.method_texts import MCP_ERROR
from acp_proxy.explain.describe.tool_texts import call_in
from acp_proxy.explain.hints import NONE, Hints
from acp_proxy.explain.observed_faults import mark
from acp_proxy.explain.preview import one_line, preview
from acp_proxy.explain.waits import Party, answering_party
from acp_proxy.protocol.chunks import Chunk
from acp_proxy.protocol.dialects import MCP_MESSAGE, PERMISSION, PROMPT
from acp_proxy.protocol.updates import FAILED, UPDATE
from acp_proxy.store.tables.checked_values import Row

ARROWS = {"to-agent": "→", "to-client": "←", "stderr": "!"}
_SLOW_NS, _STUCK_NS = 10**9, 10 * 10**9
_UPDATE = re.compile(r"([A-Za-z][\w/.-]{1,60})(?:: |$)")
"""The kind of an update at the beginning of its preview."""


Tone = Literal["plain", "prompt", "permission", "trouble"]
"""The topic of a line, which decides the line's colour."""
Pace = Literal["", "slow", "stuck"]
"""How late an answer came: slow, or stuck if it came very late or never. Empty for all other
lines."""


class Cells(NamedTuple):
    """The columns before the text in a line of the timeline."""

    number: str
    time: str
    arrow: str
    method: str = ""
    rpc_id: str = ""
    pair: str = ""
    size: str = ""


@frozen
class TimelineLine:
    """A line of the timeline, which shows one frame, event or run of chunks."""

    cells: Cells
    text: str
    stream: str
    """The stream of the frame: to-agent, to-client or stderr; ``event`` for an event."""
    tone: Tone = "plain"
    pace: Pace = ""


def frame_line(
    frame: Row, *, live: bool = False, hints: Hints = NONE, step_ns: int = 0
) -> TimelineLine:
    """Renders a frame as a line of the timeline.

    Args:
        frame: a row of `frames` with its exchange.
        live: whether an answer may still come.
        hints: facts about the frame that are in other frames.
        step_ns: the resolution of durations; see `duration`.
    """
    stream, kind = frame["stream"], frame["kind"]
    method = frame["method"] or ("" if kind in ("stderr", "blank") else kind)
    text = preview(
        bytes(frame["raw"]), kind, frame["method"], frame["parse_error"], hints, size=frame["size"]
    )
    is_mcp_error = method == MCP_MESSAGE and kind == "response" and text.startswith(MCP_ERROR)
    verb = _verb("error" if is_mcp_error else kind, method)
    if kind == "notification" and method == UPDATE and (update := _UPDATE.match(text)):
        verb, text = update[1], text[update.end() :]
    text = f"{mark(frame)}{text}"
    if frame["newline"] == "" and stream != "stderr":
        text = f"[no newline] {text}"
    cells = Cells(
        str(frame["seq"]),
        seconds(frame["t_ns"]),
        ARROWS[stream],
        verb,
        f"#{frame['rpc_id']}" if frame["rpc_id"] is not None else "",
        _pair(frame, live, step_ns),
        byte_size(frame["size"]),
    )
    tone = "trouble" if _has_failed(frame) else _tone(kind, method)
    return TimelineLine(cells, text, stream, tone, _pace(frame, live))


def chunk_text(frame: Row, chunk: Chunk | None) -> str | None:
    """Returns the text of the line that `frame_line` makes for a chunk, without parsing the frame.

    Args:
        frame: a row of `frames`.
        chunk: the result of `chunk_in` for the row.

    Returns:
        The text; None without a chunk, or if only `frame_line` can find the text.
    """
    is_odd = frame["tool_call"] is not None or frame["size"] > PREVIEWED_LINE
    if chunk is None or is_odd or chunk.update == "thought_message_chunk":  # a hidden thought?
        return None
    start = f"{chunk.update}: "
    return one_line(start + (chunk.text or "(empty)"))[len(start) :]


def member_lines(
    frame: Row, *, live: bool, hints_of: Callable[[Row], Hints], step_ns: int = 0
) -> Iterator[TimelineLine]:
    """Renders the messages of a batch as lines without number and time.

    Args:
        frame: a row of `frames` with its ``members``.
        live: whether an answer may still come.
        hints_of: returns facts about a message that are in other frames.
        step_ns: the resolution of durations; see `duration`.
    """
    for member in frame.get("members", ()):
        own = {**member, "newline": None, "fault": None, "delivered": "full"}
        line = frame_line(own, live=live, hints=hints_of(own), step_ns=step_ns)
        yield evolve(line, cells=line.cells._replace(number="", time=""))


def event_line(event: Row) -> TimelineLine:
    """Renders an event as a line of the timeline."""
    return TimelineLine(
        Cells(str(event["seq"]), seconds(event["t_ns"]), "·", event["kind"]),
        describe_event(event["kind"], json.loads(event["data"])),
        "event",
        "trouble" if event["kind"] in ("gap", "undelivered", "fault") else "plain",
    )


def pair_of(row: Row) -> int | None:
    """Returns the number of the other frame in the exchange of a request or an answer, or None."""
    seq: int | None = row.get("response_seq" if row["kind"] == "request" else "request_seq")
    return None if seq == row["seq"] else seq


def began_ns(row: Row) -> int:
    """Returns the time of a frame's first byte, or of an event."""
    ns: int = row["t_first_ns"] if "t_first_ns" in row else row["t_ns"]
    return ns


def _verb(kind: str, method: str) -> str:
    suffix = {"response": " ✓", "error": " ✗"}.get(kind, "")
    return f"{method}{suffix}"


def _pair(frame: Row, live: bool, step_ns: int) -> str:
    if frame["request_seq"] is None:
        return ""
    if frame["kind"] == "request":
        answer = frame["response_seq"]
        return f"→{answer}" if answer is not None else "open" if live else "unanswered"
    return f"↩{frame['request_seq']} {duration(frame['latency_ns'], step_ns)}".rstrip()


def _has_failed(frame: Row) -> bool:
    """Whether an update reports that a tool call failed or was denied."""
    if frame["method"] != UPDATE or frame.get("tool_call") is None:
        return False
    raw = bytes(frame["raw"])
    return any(word.encode() in raw for word in FAILED) and call_in(raw).is_failed


def _tone(kind: str, method: str) -> Tone:
    if kind in ("error", "invalid", "batch"):
        return "trouble"
    if kind == "request" and method == PROMPT:
        return "prompt"
    return "permission" if method == PERMISSION else "plain"


def _pace(frame: Row, live: bool) -> Pace:
    """Returns how late an answer came, or whether it never came; empty if it was in time.

    An answer that ends a turn, or that needs a person or a program, is never late.
    """
    if frame["request_seq"] is None:
        return ""
    if frame["kind"] == "request":
        return "stuck" if frame["response_seq"] is None and not live else ""
    took, method = frame["latency_ns"] or 0, frame["method"]
    may_take_long = answering_party("", method) in (Party.PERSON, Party.PROGRAM)
    if took < _SLOW_NS or may_take_long or method == PROMPT:
        return ""
    return "slow" if took < _STUCK_NS else "stuck"
