"""How long requests took in two recordings, method by method."""

from array import array

from acp_proxy.difference.result import Latency
from acp_proxy.store.reader import RecordingReader

_ANSWERED = (
    "SELECT method, direction, latency_ns FROM exchanges"
    " WHERE latency_ns IS NOT NULL ORDER BY request_seq"
)
_Key = tuple[str, str]


def latency(a: RecordingReader, b: RecordingReader) -> tuple[Latency, ...]:
    """Compares the latencies of two recordings.

    Raises:
        UnreadableRecording: one is damaged.
    """
    of_a, of_b = _gathered(a), _gathered(b)
    return tuple(_compared(key, of_a.get(key), of_b.get(key)) for key in {**of_a, **of_b})


def _gathered(reader: RecordingReader) -> "dict[_Key, array[int]]":
    found: dict[_Key, array[int]] = {}
    for row in reader.query(_ANSWERED):
        key = (row["method"] or "", row["direction"])
        found.setdefault(key, array("q")).append(row["latency_ns"])
    return found


def _compared(key: _Key, a: "array[int] | None", b: "array[int] | None") -> Latency:
    method, direction = key
    of_a, of_b = sorted(a or ()), sorted(b or ())
    return Latency(
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
    """The value that half of them do not exceed, by its nearest rank, as `inspect stats` has it."""
    return values[(len(values) - 1) // 2] if values else None
