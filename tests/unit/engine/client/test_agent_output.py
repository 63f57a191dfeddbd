"""What an agent writes is a flood when nothing comes of it."""

from __future__ import annotations

from acp_proxy.engine.client.agent_output import AgentOutput


def test_lines_are_a_flood_beyond_a_multiple_of_the_recording() -> None:
    """The limit is at least a hundred thousand, and is counted from the latest progress."""
    output = AgentOutput()
    for _ in range(100_000):
        output.add_line()
    assert not output.is_flood(10)
    output.add_line()
    assert (output.is_flood(10), output.is_flood(10_001)) == (True, False)
    output.note_progress()
    assert (output.is_flood(10), output.lines) == (False, 100_001)


def test_bytes_are_a_flood() -> None:
    """Also without any line."""
    output = AgentOutput()
    output.add_bytes(256 << 20)
    assert not output.is_flood(1)
    output.add_bytes(1)
    assert output.is_flood(1)


def test_refused_requests_are_a_flood() -> None:
    """A thousand of them, if nothing else comes."""
    output = AgentOutput()
    for _ in range(999):
        output.add_refusal()
    assert not output.is_flood(1)
    output.add_refusal()
    assert output.is_flood(1)
    assert output.flood_summary == (
        "the agent wrote 0 lines and 0 bytes without an answer to anything;"
        " 1000 of its requests were refused"
    )
    output.note_progress()
    assert not output.is_flood(1)
