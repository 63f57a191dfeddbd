"""To choose among recordings, a replay compares their first lines except for session ids."""

from __future__ import annotations

from acp_proxy.playback.replay.recording_choice import session_pairs
from tests.support.cases import each_case

ANSWER = ("response", "session/new")


@each_case(
    ("first", "other", "pairs"),
    [
        ('{"result":{"sessionId":"a"}}', '{"result":{"sessionId":"b"}}', [("a", "b")]),
        ('{"result":{"sessionId":"a"}}', r'{"result":{"sessionId":"\u0061"}}', [("a", "a")]),
        ('{"result":{"sessionId":"a"}}', '{"result":{"sessionId":"a"}}', [("a", "a")]),
        ('{"result":{"sessionId":"a"}}', '{"result":{"sessionId": "a"}}', None),
        ('{"result":{"sessionId":"a"}}', '{"result":{"sessionId":7}}', None),
        ('{"result":{"sessionId":"a","x":"a"}}', '{"result":{"sessionId":"b","x":"b"}}', None),
        ('{"result":{"_meta":{"sessionId":"a"}}}', '{"result":{"_meta":{"sessionId":"b"}}}', None),
        ('{"result":{}}', '{"result":{}}', []),
        ("no JSON a", "no JSON a", []),
        ("no JSON a", "no JSON b", None),
    ],
)
def test_session_ids_of_equal_lines_are_paired(
    first: str, other: str, pairs: list[tuple[str, str]] | None
) -> None:
    """If lines of two recordings differ only in session ids, `replay` pairs these ids."""
    assert session_pairs(first.encode(), other.encode(), *ANSWER) == pairs
