"""The first line of the text form: its format, and the metadata of the recording."""

import json
from pathlib import Path
from typing import Any

import msgspec
from attrs import NOTHING, asdict, fields
from msgspec import Struct

from acp_proxy.base.errors import NewerRecording
from acp_proxy.base.limits import SAFE_NUMBER
from acp_proxy.base.wording import visible_json
from acp_proxy.recording.recording import (
    STATES,
    TYPES,
    Origin,
    Recording,
    origin_values,
    read_origin,
    read_time,
)
from acp_proxy.recording.text_form.text_lines import LIMIT, BadLine, reason, short

FORMAT = 1
"""The latest format that this version reads; newer formats are refused."""

_encode = msgspec.json.encode
_REQUIRED = [column.name for column in fields(Recording) if column.default is NOTHING]


class _Version(Struct):
    acp_proxy: int


class _Header(Struct, forbid_unknown_fields=True):
    acp_proxy: int
    recording: dict[str, Any]


_decode_version = msgspec.json.Decoder(_Version).decode
_decode_header = msgspec.json.Decoder(_Header).decode


def write_header(recording: Recording) -> bytes:
    """Returns the header line of a text form, including its newline."""
    row = {name: value for name, value in asdict(recording).items() if value is not None}
    row["command"] = _argv(recording)
    if recording.seed is not None and abs(recording.seed) >= SAFE_NUMBER:
        row["seed"] = str(recording.seed)
    if recording.origin is not None:
        row["origin"] = origin_values(recording.origin)
    return visible_json(_encode({"acp_proxy": FORMAT, "recording": row}) + b"\n")


def read_header(line: bytes, path: Path) -> Recording:
    """Reads the header line of a text form.

    Args:
        line: the header.
        path: the path of the text form, for error messages.

    Raises:
        BadLine: the line is not a header.
        NewerRecording: a newer version of acp-proxy wrote the header.
    """
    try:
        version = _decode_version(line).acp_proxy
        if version > FORMAT:
            raise NewerRecording(path, version, FORMAT)
        header = _decode_header(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as e:
        raise BadLine(f"expected a header, got {short(line)}: {reason(e)}") from None
    if version < 1:
        raise BadLine(f"expected format {FORMAT}, got {version}")
    return _recording(header.recording)


def _argv(recording: Recording) -> str | list[str]:
    """Returns the agent's command: a list if the list encodes to the stored text, else the text."""
    argv = recording.words
    try:
        _encode(argv)
    except ValueError:  # half of a surrogate pair
        return recording.command
    is_same = json.dumps(argv, ensure_ascii=False) == recording.command
    return argv if is_same else recording.command


def _recording(row: dict[str, Any]) -> Recording:
    if unknown := [name for name in row if name not in TYPES]:
        raise BadLine(f"a recording has no member {unknown[0]!r}")
    if missing := [name for name in _REQUIRED if name not in row]:
        raise BadLine(f"the recording lacks {', '.join(map(repr, missing))}")
    if isinstance(row.get("command"), list):
        row["command"] = json.dumps(row["command"], ensure_ascii=False)
    if row.get("origin") is not None:
        row["origin"] = _origin(row["origin"])
    for name, value in row.items():
        row[name] = _value(name, value)
    recording = Recording(**{"state": "complete", **row})
    if recording.state not in STATES:
        raise BadLine(f"expected 'state' to be one of {', '.join(STATES)}, got {recording.state!r}")
    _check_command(recording.command)
    _check_times(recording)
    return recording


def _value(name: str, value: Any) -> Any:
    kinds = TYPES[name]
    if int in kinds and isinstance(value, str) and value.lstrip("-").isdecimal():
        value = int(value[:21])
    if isinstance(value, bool) or not isinstance(value, kinds):
        expected = "a string" if str in kinds else "an integer"
        raise BadLine(f"expected {name!r} to be {expected}, got {value!r:.60}")
    if isinstance(value, int) and not -LIMIT <= value < LIMIT:
        raise BadLine(f"{name} is out of range: {value}")
    return value


def _origin(value: Any) -> Origin:
    try:
        return read_origin(value)
    except ValueError as e:
        raise BadLine(str(e)) from None


def _check_command(command: str) -> None:
    try:
        argv = json.loads(command)
    except (ValueError, RecursionError):
        argv = None
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        raise BadLine(f"expected 'command' to be a list of strings, got {command[:60]}")


def _check_times(recording: Recording) -> None:
    for name in ("started_at", "ended_at"):
        text = getattr(recording, name)
        try:
            if text is not None:
                read_time(text)
        except ValueError:
            raise BadLine(f"expected {name!r} to be a time such as 2025-06-15T15:06:40+00:00, "
                          f"got {text[:60]!r}") from None  # fmt: skip
