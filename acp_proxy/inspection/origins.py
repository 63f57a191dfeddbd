"""What is known of an imported recording, and what is not: for people in words, for programs null.

A recording of ours has all there is, so nothing here changes anything of it.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, TypeVar

from attrs import AttrsInstance, evolve, fields

from acp_proxy.forms import converter
from acp_proxy.recording import LOST, Claim, Recording
from acp_proxy.store.checked_values import Row
from acp_proxy.wording import counted, duration, step

_CLAIMS: dict[str, Claim] = {
    **dict.fromkeys(("t_ns", "t_first_ns"), "times"),
    "at": "date",
    "activity": "durations",
    **dict.fromkeys(
        (
            "before_turns_ns", "in_turns_ns", "between_turns_ns", "first_update_ns",
            "first_chunk_ns", "agent_ns", "client_ns", "streaming_ns", "silent_ns", "person_ns",
            "terminals_ns", "files_ns", "other_ns",
        ),
        "silences",
    ),
    **dict.fromkeys(("bytes", "size", "newline"), "bytes"),
}  # fmt: skip
"""What members claim to be known, by their names; those that are not here claim nothing, but for
other times, which are durations."""

Value = TypeVar("Value", bound=AttrsInstance)


def is_known(recording: Recording, name: str) -> bool:
    """Whether the source of a recording knows a member of a value, by the member's name.

    Args:
        recording: of which the value is.
        name: the name of the member in JSON.
    """
    claim = _CLAIMS.get(name, "durations" if name.endswith("_ns") else None)
    return claim is None or recording.knows(claim)


def known_value(recording: Recording, value: Value) -> Value:
    """Returns an attrs value with None for each of its members that is not known.

    Args:
        recording: of which the value is.
        value: the value.
    """
    if recording.origin is None:
        return value
    unknown: dict[str, Any] = dict.fromkeys(_unknown_members(recording, value))
    return evolve(value, **unknown) if unknown else value  # type: ignore[misc]  # any of attrs


def forget_unknown(recording: Recording, value: AttrsInstance) -> None:
    """Sets members of an attrs value to None that are not known.

    Args:
        recording: of which the value is.
        value: the value, which others have as well.
    """
    for name in _unknown_members(recording, value):
        setattr(value, name, None)


def _unknown_members(recording: Recording, value: AttrsInstance) -> list[str]:
    names = (field.name for field in fields(type(value)))
    return [name for name in names if not is_known(recording, name)]


def known_json(recording: Recording, value: Any) -> Any:
    """Returns one of our values as plain JSON, with null for what is not known.

    Args:
        recording: of which the value is.
        value: the value; the names of files' sizes must not be among its members.
    """
    plain = converter.unstructure(value)
    return plain if recording.origin is None else _known(recording, plain)


def known_row(recording: Recording, row: Row) -> Row:
    """Returns a row of frames or events with None for what is not known.

    Args:
        recording: of which the row is.
        row: the row.
    """
    if recording.origin is None:
        return row
    return {name: one if is_known(recording, name) else None for name, one in row.items()}


def _known(recording: Recording, value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_known(recording, one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: one
        if name == "origin"
        else _known(recording, one)
        if is_known(recording, name)
        else None
        for name, one in value.items()
    }


def took(recording: Recording | None, ns: int) -> str:
    """Returns how long something took, as finely as is known; empty if it is not.

    Args:
        recording: of which it is; None for one of ours.
        ns: the time from its beginning to its end.
    """
    if recording is None:
        return duration(ns)
    return duration(ns, recording.step_ns) if recording.knows("durations") else ""


def why_no_times(recording: Recording) -> str:
    """Returns why it is not said what time was spent on; empty if that is known."""
    origin = recording.origin
    if origin is None or recording.knows("silences"):
        return ""
    if recording.knows("durations"):
        return f"no times of turns: in {origin.title} messages may be missing"
    if not recording.knows("times"):
        return f"no times: {origin.title}, from which it was imported, has none"
    lines = counted(origin.inferred_times, "message")
    have = "has" if origin.inferred_times == 1 else "have"
    return f"no durations: {lines} in {origin.title} {have} no usable time"


def origin_rows(recording: Recording) -> Iterator[tuple[str, str]]:
    """Yields labels and texts that say what a recording was imported from, and what it lacks."""
    origin = recording.origin
    if origin is None:
        return
    parts = [f"from {origin.title}"]
    if not recording.knows("date"):
        at = datetime.fromisoformat(recording.started_at).astimezone()
        parts = [f"from {origin.title} on {at:%Y-%m-%d %H:%M:%S %z}"]
    if recording.knows("times") and origin.resolution_ns:
        parts.append(f"times in steps of {step(origin.resolution_ns)}")
    for count, what in (
        (origin.inferred_directions, "inferred direction"),
        (origin.inferred_times, "inferred time"),
    ):
        parts += [counted(count, what)] if count else []
    if origin.skipped:
        parts.append(f"{counted(origin.skipped, 'line')} left out that could not be read")
    yield "imported", ", ".join(parts)
    lost = [word for word in origin.lost if word != "zone" or recording.knows("times")]
    if lost:
        yield "not known", "; ".join(LOST[word] for word in lost)
