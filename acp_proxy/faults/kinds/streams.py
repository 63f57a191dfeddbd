"""Kinds of faults that concern a stream: it stops, ends early, or has unexpected bytes."""

from collections.abc import Iterable

from attrs import field, frozen

from acp_proxy.faults.fault import (
    CloseEffect,
    Effect,
    Fault,
    PassingFrame,
    StallEffect,
    StderrEffect,
    at_least,
    injected_line,
)
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.protocol.typed_places import Place, Span, spans, splice


@frozen
class StallFault(Fault):
    """From this frame on nothing passes, and the pipe stays open."""

    kind = "stall"
    has_side_effect = True

    keep_frame: bool = False
    """Whether the frame, as changed by earlier rules, still passes."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Holds back the frame and all later frames."""
        if self.keep_frame:
            yield frame.delivery
        yield StallEffect(frame.direction)

    def describe(self) -> str:
        """Describes what happens to a frame."""
        passes = "passes, but" if self.keep_frame else "never arrives, and"
        return f"{passes} nothing after it in its direction does; the pipe stays open"


@frozen
class StrayStdoutFault(Fault):
    """A line that is not ACP appears in the agent's output, before the frame."""

    kind = "stray-stdout"
    outcome = "arrives behind a stray line on stdout: {text}"
    directions = (Direction.TO_CLIENT,)
    has_side_effect = True

    text: str = "DEBUG: this is a log line on stdout"
    """The text of the line, or of several lines."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Yields the line, then lets the frame pass."""
        for line in self.text.removesuffix("\n").split("\n"):
            yield injected_line(
                Direction.TO_CLIENT, line.encode("utf-8", "backslashreplace") + b"\n"
            )
        yield frame.delivery


@frozen
class StderrFloodFault(Fault):
    """The agent's stderr gets many lines, and the frame passes."""

    kind = "stderr-flood"
    outcome = "passes, and {lines} lines appear on the agent's stderr"
    has_side_effect = True

    lines: int = field(default=10_000, validator=at_least(1, 1_000_000))
    """How many lines, each of about 30 bytes."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Writes the lines, and lets the frame pass."""
        text = "".join(f"stderr-flood line {n} of {self.lines}\n" for n in range(1, self.lines + 1))
        yield StderrEffect(text.encode())
        yield frame.delivery


_BODIES = ("params", "result")


@frozen
class HugeFrameFault(Fault):
    """The frame is padded to a given size and stays legal."""

    kind = "huge-frame"
    outcome = "is padded to {bytes} bytes, and stays legal"

    bytes: int = field(default=100_000, validator=at_least(1))
    """Size of the whole line; larger lines are not changed."""

    def fits(self, frame: PassingFrame) -> bool:
        """Accepts frames below the given size, if their params or result can have ``_meta``."""
        data = frame.delivery.data
        return len(data) < self.bytes and _padded(data, self.bytes) != data

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Pads the frame."""
        yield frame.delivery.with_data(_padded(frame.delivery.data, self.bytes))


def _padded(data: bytes, size: int) -> bytes:
    """Returns a message with padding in ``_meta``. Data that cannot be padded is not changed."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    meta = _objects(text, {body: {"_meta": Place.FREE} for body in _BODIES})
    if meta:
        return _with(text, meta[0] + 1, '"padding":"%s"', size)
    bodies = _objects(text, dict.fromkeys(_BODIES, Place.FREE))
    has_other_meta = spans(text, {body: {"_meta": Place.FREE} for body in _BODIES})
    if not bodies or has_other_meta:
        return data
    return _with(text, bodies[0] + 1, '"_meta":{"padding":"%s"}', size)


def _objects(text: str, places: dict[str, object]) -> list[int]:
    """Looks for objects at the given places of a message; returns where each object begins."""
    return [span.start for span in spans(text, places) if text[span.start] == "{"]


def _with(text: str, at: int, member: str, size: int) -> bytes:
    """Inserts a padding member at the start of an object, so that the text gets a given size."""
    after = "" if text[at:].lstrip().startswith("}") else ","
    missing = size - len(text.encode()) - len(member % "") - len(after)
    if missing < 0:
        return text.encode()
    return splice(text, [(Span(at, at, Place.FREE), member % ("x" * missing) + after)]).encode()


@frozen
class LimitDataFault(Fault):
    """The direction ends after a number of bytes."""

    kind = "limit-data"
    outcome = "is cut off at byte {bytes} of its direction, which ends there"

    bytes: int = field(default=1000, validator=at_least(0))
    """After how many bytes, counted from the connection's start, the direction ends."""

    def fits(self, frame: PassingFrame) -> bool:
        """Accepts only the frame in which the limit is exceeded."""
        return frame.total + len(frame.delivery.data) > self.bytes

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Lets the bytes within the limit pass, then closes the direction."""
        left = max(0, self.bytes - frame.total)
        if left:
            yield frame.delivery.with_data(frame.delivery.data[:left])
        yield CloseEffect(frame.direction)


@frozen
class CloseFault(Fault):
    """The direction is closed in place of the frame, or after it."""

    kind = "close"
    has_side_effect = True

    keep_frame: bool = False
    """Whether the frame, as changed by earlier rules, still passes."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Closes the direction."""
        if self.keep_frame:
            yield frame.delivery
        yield CloseEffect(frame.direction)

    def describe(self) -> str:
        """Describes what happens to a frame."""
        if self.keep_frame:
            return "passes, and then its direction is closed"
        return "never arrives, and its direction is closed"
