"""Shows which facts an imported recording lacks: in words for people, as null for programs.

A recording of acp-proxy has all facts: nothing is replaced.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, TypeVar

from attrs import AttrsInstance, evolve, fields

from acp_proxy.base.wording import counted, duration, step
from acp_proxy.recording.recording import LOST, Fact, Recording, needs

MEMBERS: dict[tuple[Fact, ...], tuple[str, ...]] = {
    ("times",): ("t_ns", "t_first_ns"),
    ("date",): ("at",),
    ("durations",): (
        "activity", "duration_ns", "latency_ns", "length_ns", "max_ns", "p50_ns", "p90_ns",
        "p99_ns", "start_ns", "step_ns", "took_ns", "waited_ns",
    ),
    ("middle", "durations"): (
        "agent_ns", "before_turns_ns", "between_turns_ns", "client_ns", "files_ns",
        "first_chunk_ns", "first_update_ns", "in_turns_ns", "longest_silence", "other_ns",
        "person_ns", "silent_ns", "streaming_ns", "terminals_ns",
    ),
    ("bytes",): ("bytes", "newline", "size"),
}  # fmt: skip
"""For each set of facts, the JSON members that are null unless a recording has all the facts."""
_NEEDED = {name: needed for needed, names in MEMBERS.items() for name in names}

Value = TypeVar("Value", bound=AttrsInstance)


def is_known(recording: Recording, name: str) -> bool:
    """Whether a recording has the facts that a member of the JSON needs.

    Args:
        recording: the recording that the JSON describes.
        name: the name of the member in JSON.
    """
    return name not in _NEEDED or recording.knows(*_NEEDED[name])


def known_value(recording: Recording, value: Value) -> Value:
    """Returns an attrs object, with None in each field whose facts the recording lacks.

    Args:
        recording: the recording that the object describes.
        value: the object.
    """
    if recording.origin is None:
        return value
    names = [field.name for field in fields(type(value)) if not is_known(recording, field.name)]
    return evolve(value, **dict.fromkeys(names)) if names else value  # type: ignore[misc]  # any of attrs


def known_json(recording: Recording, value: Any) -> Any:
    """Returns a value as plain JSON, with null in each member whose facts the recording lacks.

    Args:
        recording: the recording of the value.
        value: the value. Members named `size` and `bytes` must be sizes of recorded lines, not of
            files.
    """
    from acp_proxy.base.forms import converter  # imported late: text for people needs no converter

    return known_members(recording, converter.unstructure(value))


def known_members(recording: Recording, value: Any) -> Any:
    """Returns plain JSON, or a row, with None in each member whose facts the recording lacks.

    Args:
        recording: the recording of the value.
        value: the JSON or the row.
    """
    if recording.origin is None:
        return value
    if isinstance(value, list | tuple):
        return [known_members(recording, item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: known_members(recording, member) if is_known(recording, name) else None
        for name, member in value.items()
    }


@needs("durations", unknown="")
def took(recording: Recording | None, ns: int | None) -> str:
    """Returns a duration in words; empty if it is not known.

    Args:
        recording: the recording; None if acp-proxy made it, so that all times are exact.
        ns: the duration in nanoseconds.
    """
    return duration(ns) if recording is None else duration(ns, recording.step_ns)


def lasted(recording: Recording) -> str:
    """Returns in words how long a recording lasted; empty if that is not known."""
    if not recording.ended_at:
        return ""
    began, ended = map(datetime.fromisoformat, (recording.started_at, recording.ended_at))
    return took(recording, int((ended - began).total_seconds() * 1e9))


def why_no_times(recording: Recording) -> str:
    """Returns why the times of turns are not known; empty if they are known."""
    origin = recording.origin
    if origin is None or recording.knows("middle", "durations"):
        return ""
    if recording.knows("durations"):
        return f"no times of turns: messages may be missing in {origin.title}"
    if not recording.knows("times"):
        return f"no times: the recording was imported from {origin.title}, which has none"
    lines = counted(origin.inferred_times, "message")
    have = "has" if origin.inferred_times == 1 else "have"
    return f"no durations: {lines} in {origin.title} {have} no usable time"


def origin_rows(recording: Recording) -> Iterator[tuple[str, str]]:
    """Yields labels and texts about an imported recording: its source, and the facts it lacks."""
    origin = recording.origin
    if origin is None:
        return
    parts = [f"from {origin.title}"]
    if recording.known_start is None:
        at = datetime.fromisoformat(recording.started_at).astimezone()
        parts = [f"from {origin.title} on {at:%Y-%m-%d %H:%M:%S %z}"]
    if recording.knows("times") and origin.resolution_ns:
        parts.append(f"times in steps of {step(origin.resolution_ns)}")
    inferred = {"direction": origin.inferred_directions, "time": origin.inferred_times}
    parts += [counted(count, f"inferred {what}") for what, count in inferred.items() if count]
    if origin.skipped:
        parts.append(f"{counted(origin.skipped, 'line')} left out that could not be read")
    yield "imported", ", ".join(parts)
    lost = [word for word in origin.lost if word != "zone" or recording.knows("times")]
    if lost:
        yield "not known", "; ".join(LOST[word] for word in lost)
