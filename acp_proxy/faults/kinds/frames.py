"""Kinds of faults that lose, repeat, move or change frames."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterable
from enum import StrEnum
from functools import cache
from typing import Any

from attrs import field, frozen

from acp_proxy.faults.fault import (
    BadSetting,
    Chance,
    Effect,
    Fault,
    PassingFrame,
    at_least,
    one_line,
    plain_json,
)
from acp_proxy.protocol.json_text import parse, parts_of


@frozen
class DropFault(Fault):
    """The frame never arrives."""

    kind = "drop"
    outcome = "never arrives"

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:  # noqa: ARG002
        """Lets nothing pass."""
        return ()


@frozen
class DuplicateFault(Fault):
    """The frame arrives several times."""

    kind = "duplicate"

    copies: int = field(default=2, validator=at_least(2, 10_000))
    """How often the frame arrives in total."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Lets the frame pass, and its copies after it."""
        yield frame.delivery
        for _ in range(self.copies - 1):
            yield frame.delivery._replace(is_injected=True)

    def describe(self) -> str:
        """Describes what happens to a frame."""
        return "arrives twice" if self.copies == 2 else f"arrives {self.copies} times"


@frozen
class ReorderFault(Fault):
    """The frame goes out after later frames."""

    kind = "reorder"

    after_frames: int = field(default=1, validator=at_least(1))
    """How many later frames to wait for. A frame counts when it is received, even if it is held."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Holds the frame back. At the end of the stream, all held frames go out."""
        yield frame.delivery._replace(
            behind_frames=frame.delivery.behind_frames + self.after_frames
        )

    def describe(self) -> str:
        """Describes what happens to a frame."""
        later = "the next one" if self.after_frames == 1 else f"the next {self.after_frames}"
        return f"goes out behind {later} of its direction"


class CorruptMode(StrEnum):
    """How bytes are changed."""

    FLIP = "flip"
    """One random bit is flipped, but never so that a newline results."""
    BAD_UTF8 = "bad-utf8"
    """A byte that is invalid in UTF-8 is inserted at a random position."""
    BAD_JSON = "bad-json"
    """The closing bracket at the end of the frame is removed."""
    NUL = "nul"
    """A NUL byte is inserted at a random position."""
    BOM = "bom"
    """A byte order mark is put in front of the line."""
    CRLF = "crlf"
    """The line ends in CR LF."""


@frozen
class CorruptFault(Fault):
    """Bytes of the frame are changed."""

    kind = "corrupt"

    mode: CorruptMode = CorruptMode.FLIP
    """How the bytes are changed."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Changes the frame."""
        data = frame.delivery.data
        line = data.removesuffix(b"\n").removesuffix(b"\r")
        end = data[len(line) :]
        yield frame.delivery.with_data(self._changed(line, end, frame.chance))

    def _changed(self, line: bytes, end: bytes, chance: Chance) -> bytes:
        at = chance.below(len(line) + 1, "place")
        match self.mode:
            case CorruptMode.FLIP:
                return _flipped(line, chance) + end
            case CorruptMode.BAD_UTF8:
                return line[:at] + b"\xff" + line[at:] + end
            case CorruptMode.BAD_JSON:
                return line.rstrip()[:-1] + end
            case CorruptMode.NUL:
                return line[:at] + b"\0" + line[at:] + end
            case CorruptMode.BOM:
                return BOM_UTF8 + line + end
            case CorruptMode.CRLF:
                return line + (b"\r\n" if end else b"")

    def describe(self) -> str:
        """Describes what happens to a frame."""
        return _WORDS[self.mode]


_WORDS = {
    CorruptMode.FLIP: "has a bit flipped",
    CorruptMode.BAD_UTF8: "has a byte in it that is not UTF-8",
    CorruptMode.BAD_JSON: "lacks its last bracket",
    CorruptMode.NUL: "has a NUL byte in it",
    CorruptMode.BOM: "begins with a byte order mark",
    CorruptMode.CRLF: "ends in CR LF",
}


def _flipped(line: bytes, chance: Chance) -> bytes:
    if not line:
        return line
    at = chance.below(len(line), "place")
    bit = chance.below(8, "bit")
    changed = line[at] ^ (1 << bit)
    if changed in b"\r\n":
        changed = line[at] ^ (1 << (bit + 1) % 8)
    return line[:at] + bytes([changed]) + line[at + 1 :]


@frozen
class TruncateFault(Fault):
    """The frame's end is cut off."""

    kind = "truncate"

    keep_bytes: int = field(default=20, validator=at_least(0))
    """How many bytes of the line arrive, not counting the newline."""
    newline: bool = True
    """Whether the newline is kept; otherwise the next frame continues the line."""

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Cuts the frame."""
        data = frame.delivery.data
        line = data.removesuffix(b"\n").removesuffix(b"\r")
        end = data[len(line) :] if self.newline else b""
        yield frame.delivery.with_data(line[: self.keep_bytes] + end)

    def describe(self) -> str:
        """Describes what happens to a frame."""
        end = "" if self.newline else ", and its line does not end"
        return f"is cut after {self.keep_bytes} bytes{end}"


_Path = tuple[str, ...]
_path_of = cache(parts_of)
_encode = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":")).encode


@frozen
class ReplaceFault(Fault):
    """The frame is replaced by a given line, or some of its members are set."""

    kind = "replace"

    frame: str | None = field(default=None, validator=one_line)
    """The line that arrives in place of the frame."""
    set: dict[str, Any] = field(factory=dict, validator=plain_json)
    """New values by JSON pointer. If a pointer ends in ``/-``, its value is appended to a list."""
    change: dict[str, Any] = field(factory=dict, validator=plain_json)
    """New values by JSON pointer; values for members that the frame lacks are ignored."""

    def __attrs_post_init__(self) -> None:
        """Refuses settings that exclude each other."""
        members = {"set": self.set, "change": self.change}
        if (self.frame is None) == (not any(members.values())):
            given = "none of them" if self.frame is None else "'frame' with 'set' or 'change'"
            raise BadSetting("frame", f"expected 'frame' alone, or 'set' or 'change'; got {given}")
        for name, values in members.items():
            for pointer in values:
                if not pointer.startswith("/"):
                    raise BadSetting(
                        name, f"expected a JSON pointer such as /params/sessionId, got {pointer!r}"
                    )

    def new_state(self) -> dict[bytes, bytes | None]:
        """Returns a cache of the latest line and its changed form, for `fits` and `apply`."""
        return {}

    def fits(self, frame: PassingFrame) -> bool:
        """If a line is given, accepts any frame. If not, accepts JSON whose members can be set."""
        return self.frame is not None or self._made(frame) is not None

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Replaces the frame. A copy that an earlier rule has made invalid passes unchanged."""
        line = self._made(frame) if self.frame is None else self.frame.encode()
        if line is None:
            yield frame.delivery
        else:
            yield frame.delivery.with_data(line + (frame.newline or b"\n"))

    def _made(self, frame: PassingFrame) -> bytes | None:
        """Returns the frame with its new members as a line; None if the members cannot be set."""
        data = frame.delivery.data
        if data not in frame.state:
            frame.state.clear()
            frame.state[data] = self._changed(data)
        made: bytes | None = frame.state[data]
        return made

    def _changed(self, data: bytes) -> bytes | None:
        try:
            value = parse(data)
            there = [(p, new) for p, new in self.change.items() if _has(value, _path_of(p))]
            if not self.set and not there:
                return None
            for pointer, new in (*self.set.items(), *there):
                _put(value, _path_of(pointer), new)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return None
        return _encode(value).encode("utf-8", "backslashreplace")

    def describe(self) -> str:
        """Describes what happens to a frame."""
        if self.frame is not None:
            return f"is replaced by {self.frame}"
        members = [*self.set.items(), *self.change.items()]
        values = (f"{p} is {json.dumps(v, ensure_ascii=False)}" for p, v in members)
        return f"is changed: {', '.join(values)}"


def _has(value: Any, path: _Path) -> bool:
    """Whether a message has a member."""
    for key in path:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return False
    return True


def _put(value: Any, path: _Path, new: Any) -> None:
    """Sets a member of a message. Creates the objects around the member if they are missing."""
    for place, key in enumerate(path):
        is_last = place == len(path) - 1
        if isinstance(value, list):
            if key == "-" and is_last:
                value.append(new)
                return
            if not key.isdecimal():
                raise LookupError(key)
            if is_last:
                value[int(key)] = new
            else:
                value = value[int(key)]
        elif is_last:
            value[key] = new
        else:
            value = value.setdefault(key, {})
