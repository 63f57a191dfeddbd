"""Reads the lines of frames, events and fired faults; people may have edited these lines."""

from typing import NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.recording.text_form.text_lines import (
    LIMIT,
    BadLine,
    Style,
    from_base64,
    nanoseconds,
    read_event_data,
    reason,
    short,
    spell,
)


class FrameLine(NamedTuple):
    """A frame in the text form. It is a tuple, since there may be a million frames."""

    seq: int
    t_ns: int
    lag_ns: int
    """Nanoseconds from the line's first byte to its last byte."""
    stream: Stream
    raw: bytes
    newline: bytes
    delivered: str
    fault: str | None
    masked: bool


class EventLine(NamedTuple):
    """An event in the text form."""

    seq: int
    t_ns: int
    kind: str
    data: str
    """The data of the event, as the text of a JSON object."""


class FiredLine(NamedTuple):
    """A fault that fired at a frame, in the text form."""

    seq: int
    rule: str | None
    action: str | None
    received: bytes | None
    delivered: bytes | None
    late_ns: int | None
    """The delay of the delivered bytes in nanoseconds; None if nothing was delivered, or if the
    delay is unknown."""


class _Fired(Struct, forbid_unknown_fields=True):
    rule: str | None = None
    action: str | None = None
    received: str | None = None
    received_base64: str | None = None
    delivered: str | None = None
    delivered_base64: str | None = None
    late_ms: int | float | str | None = None


class _Line(Struct, forbid_unknown_fields=True):
    """All members that a line after the header may have."""

    after_ms: int | float | str = 0
    seq: int | UnsetType = UNSET
    stream: Stream | UnsetType = UNSET
    lag_ms: int | float | str = 0
    newline: str = "\n"
    delivered: str = "full"
    fault: str | None = None
    masked: bool = False
    style: Style = Style.COMPACT
    message: Raw | UnsetType = UNSET
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET
    event: str | UnsetType = UNSET
    data: Raw | UnsetType = UNSET
    fired: _Fired | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Line).decode
_decode_names = msgspec.json.Decoder(dict[str, Raw]).decode

_OF_EVENTS = {"after_ms", "seq", "event", "data"}
_OF_FIRED = {"seq", "fired"}
_OF_FRAMES = set(_Line.__struct_fields__) - {"event", "data", "fired"}
_NEWLINES = {"\n": b"\n", "\r\n": b"\r\n", "": b""}
_DELIVERED = ("full", "partial", "none")


def is_remark(line: bytes) -> bool:
    """Whether a line is a remark, which is ignored: a blank line or a comment."""
    if line.startswith(b"{"):
        return False
    rest = line.lstrip()
    return not rest or rest.startswith(b"#")


class LineReader:
    """Reads the lines after the header, in order."""

    def __init__(self) -> None:
        self._seq = 0
        self._t_ns = 0

    def read(self, line: bytes) -> FrameLine | EventLine | FiredLine:
        """Reads one line that is not a remark.

        Raises:
            BadLine: the line is not in the text form, or the line's number is not higher than the
                previous number.
        """
        try:
            parts = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as e:
            if b'"acp_proxy"' in line[:100]:
                raise BadLine("expected one recording, got a second header") from None
            raise BadLine(f"expected a frame or event, got {short(line)}: {reason(e)}") from None
        if parts.event is not UNSET:
            return self._event(parts, parts.event, line)
        if parts.fired is not UNSET:
            return self._fired(parts, parts.fired, line)
        if parts.stream is not UNSET:
            return self._frame(parts, parts.stream, line)
        raise BadLine(f"expected one of 'stream', 'event' or 'fired', got {short(line)}")

    def _frame(self, parts: _Line, stream: Stream, line: bytes) -> FrameLine:
        if parts.data is not UNSET:
            _allow(_OF_FRAMES, line, "a frame")
        raw = _raw(parts)
        self._advance(parts)
        if parts.newline not in _NEWLINES:
            raise BadLine(rf"expected 'newline' to be \n, \r\n or empty, got {parts.newline!r}")
        if parts.delivered not in _DELIVERED:
            expected = ", ".join(_DELIVERED)
            raise BadLine(f"expected 'delivered' to be one of {expected}, got {parts.delivered!r}")
        lag_ns = nanoseconds("lag_ms", parts.lag_ms) if parts.lag_ms else 0
        if not (-LIMIT <= lag_ns < LIMIT and -LIMIT <= self._t_ns - lag_ns < LIMIT):
            raise BadLine(f"lag_ms is out of range: {parts.lag_ms}")
        return FrameLine(
            self._seq,
            self._t_ns,
            lag_ns,
            stream,
            raw,
            _NEWLINES[parts.newline],
            parts.delivered,
            parts.fault,
            parts.masked,
        )

    def _event(self, parts: _Line, kind: str, line: bytes) -> EventLine:
        _allow(_OF_EVENTS, line, "an event")
        data = "{}" if parts.data is UNSET else read_event_data(bytes(parts.data))
        self._advance(parts)
        return EventLine(self._seq, self._t_ns, kind, data)

    def _fired(self, parts: _Line, fired: _Fired, line: bytes) -> FiredLine:
        _allow(_OF_FIRED, line, "a fault that fired")
        seq = self._seq if parts.seq is UNSET else parts.seq
        if not -LIMIT <= seq < LIMIT:
            raise BadLine(f"seq is out of range: {seq}")
        received = _bytes("received", fired.received, fired.received_base64)
        delivered = _bytes("delivered", fired.delivered, fired.delivered_base64)
        late_ns = None if fired.late_ms is None else nanoseconds("late_ms", fired.late_ms)
        if late_ns is not None and not -LIMIT <= late_ns < LIMIT:
            raise BadLine(f"late_ms is out of range: {fired.late_ms}")
        return FiredLine(seq, fired.rule, fired.action, received, delivered, late_ns)

    def _advance(self, parts: _Line) -> None:
        """Sets the current number and time to the number and time of a line."""
        seq = self._seq + 1 if parts.seq is UNSET else parts.seq
        if not self._seq < seq < LIMIT:
            raise BadLine(f"expected 'seq' to be above {self._seq} and below 2^63, got {seq}")
        self._seq = seq
        if parts.after_ms:
            self._t_ns += nanoseconds("after_ms", parts.after_ms)
            if not -LIMIT <= self._t_ns < LIMIT:
                raise BadLine(f"after_ms is out of range: {parts.after_ms}")


def _allow(names: set[str], line: bytes, what: str) -> None:
    if others := _decode_names(line).keys() - names:
        raise BadLine(f"expected no {sorted(others)[0]!r} in the line of {what}")


def _raw(parts: _Line) -> bytes:
    """Returns the bytes of a frame, from its member ``message``, ``text`` or ``base64``."""
    payloads = [name for name in ("message", "text", "base64") if getattr(parts, name) is not UNSET]
    if len(payloads) != 1:
        got = " and ".join(map(repr, payloads)) or "none"
        raise BadLine(f"expected one of 'message', 'text' or 'base64', got {got}")
    if parts.message is not UNSET:
        try:
            return spell(bytes(parts.message), parts.style)
        except ValueError as e:
            raise BadLine(f"'message' is not JSON: {reason(e)}") from None
    if parts.style is not Style.COMPACT:
        raise BadLine(f"expected 'style' only with 'message', got 'style' with {payloads[0]!r}")
    raw = parts.text.encode() if parts.text is not UNSET else b""
    if parts.base64 is not UNSET:
        raw = from_base64("base64", parts.base64)
    if b"\n" in raw:
        raise BadLine(f"expected {payloads[0]!r} to be one line without a newline")
    return raw


def _bytes(name: str, text: str | None, in_base64: str | None) -> bytes | None:
    if in_base64 is None:
        return None if text is None else text.encode()
    if text is not None:
        raise BadLine(f"expected one of '{name}' and '{name}_base64', got both")
    return from_base64(f"{name}_base64", in_base64)
