"""One line per frame or event: who said what to whom, when, and how long it took."""

import json
from typing import Any

from acp_proxy.inspection.preview import plain, preview

ARROWS = {"to-agent": "→", "to-client": "←", "stderr": "!"}
COLORS = {"to-agent": "cyan", "to-client": "green", "stderr": "yellow", "event": "magenta"}
_BAD = ("error", "invalid", "batch")

Row = dict[str, Any]


class Line:
    """A line of the timeline in columns, and the colour of its severity."""

    def __init__(self, cells: tuple[str, ...], text: str, color: str, *, bad: bool = False) -> None:
        self.cells = cells
        self.text = text
        self.color = "red" if bad else color


def frame_line(frame: Row) -> Line:
    """Renders a frame, a row of `frames` that knows its exchange."""
    stream, kind = frame["stream"], frame["kind"]
    method = frame["method"] or ("" if kind in ("stderr", "blank") else kind)
    text = preview(bytes(frame["raw"]), kind, frame["method"], frame["parse_error"])
    if frame["delivered"] != "full":
        text = f"[delivered: {frame['delivered']}] {text}"
    if frame["newline"] == "" and stream != "stderr":
        text = f"[no newline] {text}"
    return Line(
        (
            str(frame["seq"]),
            seconds(frame["t_ns"]),
            ARROWS[stream],
            _verb(kind, method),
            f"#{frame['rpc_id']}" if frame["rpc_id"] is not None else "",
            _pair(frame),
            size(frame["size"]),
        ),
        text,
        COLORS[stream],
        bad=kind in _BAD,
    )


def event_line(event: Row) -> Line:
    """Renders an event."""
    data = json.loads(event["data"])
    return Line(
        (str(event["seq"]), seconds(event["t_ns"]), "·", event["kind"], "", "", ""),
        describe_event(event["kind"], data),
        COLORS["event"],
        bad=event["kind"] in ("gap", "undelivered"),
    )


def describe_event(kind: str, data: Row) -> str:
    """Says in words what happened."""
    stream = data.get("stream", "")
    match kind:
        case "start":
            command = data.get("command")
            return plain(
                f"agent: {' '.join(map(str, command if isinstance(command, list) else []))}"
            )
        case "eof":
            return f"{stream} ended: {data.get('reason', '')}"
        case "signal":
            reason = f": {data['reason']}" if data.get("reason") else ""
            return f"{data.get('name', data.get('signal'))} {data.get('action', '')}{reason}"
        case "exit" if "name" in data:
            return f"the agent was ended by {data['name']}"
        case "exit":
            return str(data.get("reason") or f"the agent exited with {data.get('code')}")
        case "gap":
            lost = ", ".join(f"{n} bytes {s}" for s in ARROWS if (n := data.get(s)))
            return f"not recorded: {lost} ({data.get('reason', '')})"
        case "undelivered":
            return f"{data.get('bytes')} bytes {stream} were read and could not be written on"
    return plain(json.dumps(data, ensure_ascii=False))


def seconds(t_ns: int) -> str:
    """A time since the start."""
    return f"{t_ns / 1e9:.3f}"


def duration(ns: int | None) -> str:
    """A duration in the unit that a person would choose."""
    if ns is None:
        return ""
    if ns < 1_000_000:
        return f"{ns / 1e3:.0f} us"
    if ns < 1_000_000_000:
        return f"{ns / 1e6:.0f} ms"
    if ns < 120 * 10**9:
        return f"{ns / 1e9:.1f} s"
    minutes, rest = divmod(ns // 10**9, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def size(count: int) -> str:
    """A number of bytes."""
    for limit, unit in ((10**3, "B"), (10**6, "kB"), (10**9, "MB")):
        if count < limit:
            number = count * 1000 / limit
            return (
                f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"
            )
    return f"{count / 1e9:.1f} GB"


def _verb(kind: str, method: str) -> str:
    suffix = {"response": " ✓", "error": " ✗"}.get(kind, "")
    return f"{method}{suffix}"


def _pair(frame: Row) -> str:
    if frame["request_seq"] is None:
        return ""
    if frame["kind"] == "request":
        answer = frame["response_seq"]
        return f"→{answer}" if answer is not None else "unanswered"
    return f"↩{frame['request_seq']} {duration(frame['latency_ns'])}"
