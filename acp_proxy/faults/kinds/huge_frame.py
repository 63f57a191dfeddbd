"""``huge-frame``: a legal frame is padded in its ``_meta``."""

from collections.abc import Iterable

from attrs import field, frozen

from acp_proxy.faults.fault import Effect, Fault, PassingFrame, at_least
from acp_proxy.protocol.typed_places import Place, Span, spans, splice

_BODIES = ("params", "result")


@frozen
class HugeFrameFault(Fault):
    """The frame is padded to a given size and stays legal."""

    kind = "huge-frame"
    outcome = "is padded to {bytes} bytes, and stays legal"

    bytes: int = field(default=100_000, validator=at_least(1))
    """Size of the whole line; larger lines are not changed."""

    def fits(self, frame: PassingFrame) -> bool:
        """Accepts only smaller frames whose params or result can have ``_meta``."""
        data = frame.delivery.data
        return len(data) < self.bytes and _padded(data, self.bytes) != data

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Pads the frame."""
        yield frame.delivery.with_data(_padded(frame.delivery.data, self.bytes))


def _padded(data: bytes, size: int) -> bytes:
    """Adds padding in ``_meta``, which is created if needed; returns unsuitable data unchanged."""
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
    """Returns the start positions of the objects at some places."""
    return [span.start for span in spans(text, places) if text[span.start] == "{"]


def _with(text: str, at: int, member: str, size: int) -> bytes:
    """Inserts a first member with padding into an object, so that the text has a given size."""
    after = "" if text[at:].lstrip().startswith("}") else ","
    missing = size - len(text.encode()) - len(member % "") - len(after)
    if missing < 0:
        return text.encode()
    return splice(text, [(Span(at, at, Place.FREE), member % ("x" * missing) + after)]).encode()
