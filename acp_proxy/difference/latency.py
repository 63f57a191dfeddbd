"""Compares how long requests took in two recordings, method by method."""

from array import array
from collections.abc import Container, Sequence

from acp_proxy.difference.result import MethodLatency
from acp_proxy.store.exchange_queries import answered_requests, exchanges_open_during
from acp_proxy.store.reader import RecordingReader

_Key = tuple[str, str]
Pauses = Sequence[tuple[int, int]]
"""Stretches of a recording, in nanoseconds since its start."""


def latency(
    a: RecordingReader, b: RecordingReader, pauses: Pauses = ()
) -> tuple[MethodLatency, ...]:
    """Compares the latencies of two recordings.

    Args:
        a: one recording.
        b: the other.
        pauses: of B; exchanges that were open in one are not counted. A method without other
            exchanges is left out.

    Raises:
        UnreadableRecording: one is damaged.
    """
    held = exchanges_open_during(b, pauses) if pauses else set()
    of_a, of_b = _gathered(a, set()), _gathered(b, held)
    return tuple(
        _compared(key, of_a.get(key), of_b.get(key))
        for key in {**of_a, **of_b}
        if of_b.get(key) != array("q")
    )


def _gathered(reader: RecordingReader, held: Container[int]) -> "dict[_Key, array[int]]":
    """Returns the latencies by method; none for a method whose exchanges were all held up."""
    found: dict[_Key, array[int]] = {}
    for request in answered_requests(reader):
        key = (request.method or "", request.direction)
        known = found.setdefault(key, array("q"))
        if request.exchange not in held:
            known.append(request.latency_ns)
    return found


def _compared(key: _Key, a: "array[int] | None", b: "array[int] | None") -> MethodLatency:
    method, direction = key
    of_a, of_b = sorted(a or ()), sorted(b or ())
    return MethodLatency(
        method,
        direction,
        len(of_a),
        len(of_b),
        _middle(of_a),
        _middle(of_b),
        of_a[-1] if of_a else None,
        of_b[-1] if of_b else None,
    )


def _middle(values: list[int]) -> int | None:
    """Returns the median by its nearest rank, as `inspect stats` does."""
    return values[(len(values) - 1) // 2] if values else None
