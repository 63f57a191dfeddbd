"""What the columns of a recording hold; a file that holds something else is damaged.

SQLite itself keeps to no type, and recordings come from anybody.
"""

import json
from types import NoneType
from typing import Any

_TEXT, _NUMBER = (str, NoneType), (int, NoneType)
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("seq", "t_ns", "t_first_ns", "prompt_seq", "updates"), (int,)),
    **dict.fromkeys(
        ("exchange", "turn", "end_seq", "request_seq", "response_seq", "latency_ns"), _NUMBER
    ),
    **dict.fromkeys(("size", "duration_ns"), _NUMBER),
    **dict.fromkeys(("kind", "data"), (str,)),
    **dict.fromkeys(("stream", "method", "rpc_id", "session", "terminal", "parse_error"), _TEXT),
    **dict.fromkeys(("newline", "fault", "direction", "outcome", "stop_reason"), _TEXT),
    "raw": (bytes,),
}
"""What columns hold wherever they stand; SQLite itself keeps to no type, and a damaged file to
none."""


class Mistyped(Exception):
    """A value that no recorder has written."""


def check_types(row: dict[str, Any]) -> None:
    """Makes sure that a row's values are of the types that its columns promise.

    Raises:
        Mistyped: one is not.
    """
    for name, value in row.items():
        if name in _TYPES and not isinstance(value, _TYPES[name]):
            raise Mistyped(f"{name} is {type(value).__name__}")
    if "data" in row:
        try:
            data = json.loads(row["data"])
        except ValueError:
            data = None
        if not isinstance(data, dict):
            raise Mistyped("an event is no JSON object")
