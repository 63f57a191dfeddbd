"""Compares connections as a whole: handshakes, endings and latencies."""

from array import array
from collections.abc import Container, Iterator
from typing import Any

from acp_proxy.diff.diff_result import DiffOptions, Expect, Field, MethodLatency
from acp_proxy.diff.explanation import TOO_DEEP, Messages, fields
from acp_proxy.diff.reduction import handshake
from acp_proxy.protocol.capabilities import CAPABILITIES
from acp_proxy.protocol.json_text import json_or_text
from acp_proxy.protocol.jsonrpc import Direction
from acp_proxy.recording.recording import Recording, needs
from acp_proxy.store.queries.exchanges import exchanges, exchanges_open_during
from acp_proxy.store.reader import RecordingReader

_DIRECTIONS = {"request": Direction.TO_AGENT.value, "response": Direction.TO_CLIENT.value}
_RESULTS = ("protocolVersion", "agentCapabilities", "capabilities", "authMethods")
"""Members of the answer to ``initialize`` that `Expect.OUTCOME` compares."""
_Latencies = dict[tuple[str, str], "array[int]"]
"""Latencies by method and direction of the request."""


def handshake_fields(a: Messages, b: Messages, options: DiffOptions) -> Iterator[Field]:
    """Yields the places where ``initialize`` or its answer differs.

    Args:
        a: the messages of A.
        b: the messages of B.
        options: what is compared.
    """
    for part, direction in _DIRECTIONS.items():
        if options.only not in (None, direction):
            continue
        if part == "request" and options.expect is Expect.OUTCOME:
            continue
        try:
            yield from _part_fields(a, b, part, options)
        except RecursionError:
            yield TOO_DEEP


def ending_fields(a: Recording, b: Recording) -> Iterator[Field]:
    """Yields differences between the endings of the two agents, if both endings were recorded.

    Args:
        a: one recording.
        b: the other recording.
    """
    if _has_ending(a) and _has_ending(b):
        for name in ("exit_code", "exit_signal"):
            if getattr(a, name) != getattr(b, name):
                yield Field(f"/{name}", getattr(a, name), getattr(b, name))


def latencies(
    a: RecordingReader, b: RecordingReader, options: DiffOptions
) -> tuple[MethodLatency, ...]:
    """Compares how long requests took, method by method.

    The result is empty if a recording has no times.

    Args:
        a: one recording, A.
        b: the other recording, B.
        options: what is compared. An exchange of B that was open during one of `pauses` does not
            count.

    Raises:
        UnreadableRecording: a recording is damaged.
    """
    if not all(reader.recording.knows("durations") for reader in (a, b)):
        return ()
    left_out = exchanges_open_during(b, options.pauses) if options.pauses else set()
    of_a, of_b = _latencies(a, set()), _latencies(b, left_out)
    return tuple(
        _compared(key, sorted(of_a.get(key, ())), sorted(of_b.get(key, ())))
        for key in {**of_a, **of_b}
        if of_b.get(key) != array("q")
    )


def _part_fields(a: Messages, b: Messages, part: str, options: DiffOptions) -> Iterator[Field]:
    in_a, in_b = part in a.side.handshake, part in b.side.handshake
    message_a, message_b = _message(a, part, options), _message(b, part, options)
    if in_a != in_b:
        yield Field("", message_a, message_b, "a" if in_a else "b")
    elif in_a:
        if not options.exact:
            _fill_in(message_a, message_b)
            _fill_in(message_b, message_a)
        yield from fields(message_a, message_b, hides_secrets=a.hides_secrets)


def _message(side: Messages, part: str, options: DiffOptions) -> Any:
    seq = side.side.handshake.get(part)
    if seq is None:
        return None
    message = json_or_text(b"".join(side.reader.pieces(seq)))
    if not options.exact:
        message = handshake(message)
    if options.expect is Expect.OUTCOME and isinstance(message, dict):
        message = _outcome(message)
    if options.exact:
        return message
    if isinstance(message, dict):
        message.pop("id", None)
    return side.named(message, None)


def _outcome(message: dict[str, Any]) -> dict[str, Any]:
    result = message.get("result")
    message = {"error": True} if "error" in message else {"result": result}
    if isinstance(result, dict):
        message["result"] = {name: result[name] for name in _RESULTS if name in result}
    return message


def _fill_in(mine: Any, other: Any) -> None:
    """Adds an empty object of capabilities to a message if only the other message has this object.

    A peer without capabilities may leave the object out. With the empty object, each capability is
    a difference of its own.
    """
    for half in ("params", "result"):
        inner, others = (m.get(half) if isinstance(m, dict) else None for m in (mine, other))
        if isinstance(inner, dict) and isinstance(others, dict):
            for name in CAPABILITIES:
                if isinstance(others.get(name), dict):
                    inner.setdefault(name, {})


@needs("ending", unknown=False)
def _has_ending(recording: Recording) -> bool:
    """Whether the exit code or the signal is known. A file written by hand may omit both."""
    is_known = recording.exit_code is not None or recording.exit_signal is not None
    return recording.state == "complete" and is_known


def _latencies(reader: RecordingReader, left_out: Container[int]) -> _Latencies:
    """Returns the latencies of each method: none for a method whose exchanges are all left out."""
    latencies: _Latencies = {}
    for exchange in exchanges(reader, order="request_seq"):
        if exchange.latency_ns is None:
            continue
        known = latencies.setdefault((exchange.method or "", exchange.direction), array("q"))
        if exchange.id not in left_out:
            known.append(exchange.latency_ns)
    return latencies


def _compared(key: tuple[str, str], a: list[int], b: list[int]) -> MethodLatency:
    method, direction = key
    # The median is the value of the nearest rank, as in `stats`.
    middles = [values[(len(values) - 1) // 2] if values else None for values in (a, b)]
    most = [values[-1] if values else None for values in (a, b)]
    return MethodLatency(method, direction, len(a), len(b), *middles, *most)
