"""``replace``: the frame is replaced or changed."""

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from attrs import field, frozen

from acp_proxy.faults.fault import BadSetting, Effect, Fault, PassingFrame, one_line, plain_json
from acp_proxy.protocol.json_text import parse, parts_of

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
    """New values by JSON pointer; a last part ``-`` appends to a list."""
    change: dict[str, Any] = field(factory=dict, validator=plain_json)
    """New values by JSON pointer, for members that the frame has."""

    def __attrs_post_init__(self) -> None:
        """Refuses settings that exclude each other."""
        members = {"set": self.set, "change": self.change}
        if (self.frame is None) == (not any(members.values())):
            came = "neither" if self.frame is None else "both"
            raise BadSetting("frame", f"expected either frame or set, got {came}")
        for name, values in members.items():
            for pointer in values:
                if not pointer.startswith("/"):
                    raise BadSetting(
                        name, f"expected a JSON pointer such as /params/sessionId, got {pointer!r}"
                    )

    def new_state(self) -> dict[bytes, bytes | None]:
        """Returns a cache for the last changed line, which `fits` and `apply` share."""
        return {}

    def fits(self, frame: PassingFrame) -> bool:
        """Accepts any frame if a line is given; otherwise only JSON with places for the members."""
        return self.frame is not None or self._made(frame) is not None

    def apply(self, frame: PassingFrame) -> Iterable[Effect]:
        """Replaces the frame; a copy that an earlier rule has spoiled passes unchanged."""
        line = self._made(frame) if self.frame is None else self.frame.encode()
        if line is None:
            yield frame.delivery
        else:
            yield frame.delivery.with_data(line + (frame.newline or b"\n"))

    def _made(self, frame: PassingFrame) -> bytes | None:
        """Returns the line with the members set, perhaps from the cache; None if impossible."""
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
    """Sets a member, creating missing objects above it."""
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
