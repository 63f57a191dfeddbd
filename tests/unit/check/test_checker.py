"""Tests `check` with gaps, faults, large lines and JSON-RPC batches."""

from __future__ import annotations

from tests.support.example_checker import check_lines, judge


def test_a_batch_is_checked_message_by_message() -> None:
    """`check` judges each message of a JSON-RPC batch, and its findings name the batch's frame."""
    batch = (
        '<- [{"jsonrpc": "1.0", "method": "_a/b"}, {"id": 9, "result": {}, "jsonrpc": "2.0"}, {}]'
    )
    result = check_lines([batch])
    assert [(item.rule, item.seq) for item in result.findings if item.rule.startswith("rpc.")] == [
        ("rpc.version", 1),
        ("rpc.response-unknown", 1),
        ("rpc.version", 1),
        ("rpc.shape", 1),
    ]


def test_findings_that_another_explains_are_taken_back() -> None:
    """If a message is spread over several lines, `check` has one finding, not one for each line."""
    lines = ["<- | {", '<- |  "jsonrpc": "2.0", "method": "_a/b"', "<- | }"]
    result = check_lines(lines)
    assert [(item.rule, item.seq) for item in result.findings] == [("frame.split-message", 1)]
    assert [(item.rule, item.count) for item in result.counts] == [("frame.split-message", 1)]


def test_counts_go_on_where_findings_are_not_kept() -> None:
    """`check` counts all findings of a rule, but keeps at most a thousand."""
    result = check_lines(["<- | hello"] * 1_001)
    assert len(result.findings) == 1_000
    assert [count.count for count in result.counts] == [1_001]


def test_rules_can_be_chosen() -> None:
    """If only one rule is selected, `check` reports only breaches of this rule."""
    lines = ["<- | hello", '<- {"jsonrpc": "2.0", "id": 3, "result": {}}']
    assert judge(lines, only="frame.not-json")[1:2] == ["   frame.not-json by agent"]


def test_an_agent_of_v1_is_not_accused_because_its_client_writes_initialize_otherwise() -> None:
    """If a client of v1 writes `initialize` as in the 1.0 draft, `check` finds no error."""
    result = check_lines(
        [
            '-> {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":'
            ' {"protocolVersion": 1, "capabilities": {}, "clientInfo": {"name": "c",'
            ' "version": "1"}}}',
            '<- {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1}}',
            '-> {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/p",'
            ' "mcpServers": []}}',
            '<- {"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}}',
            '-> {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params":'
            ' {"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}]}}',
            '<- {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s",'
            ' "update": {"sessionUpdate": "agent_message_chunk",'
            ' "content": {"type": "text", "text": "hi"}}}}',
            '<- {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}}',
        ]
    )
    assert (result.dialect, result.dialect_reason) == (
        "v1",
        "session/new with cwd; initialize is written as draft-1.0",
    )
    assert [item.rule for item in result.findings if item.severity == "error"] == []


def test_sentences_call_dialects_as_the_command_line_does() -> None:
    """In its findings, `check` calls the 1.0 draft of ACP `draft-1.0`."""
    update = '{"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "a"}}'
    result = check_lines(
        [
            '-> {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {},'
            ' "protocolVersion": 1, "clientInfo": {"name": "c", "version": "1"}}}',
            '<- {"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": 1, "capabilities": {}}}',
            '<- {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s",'
            f' "update": {update}}}}}',
        ]
    )
    (misplaced,) = (
        finding for finding in result.findings if finding.rule == "update.wrong-dialect"
    )
    assert "draft-1.0" in misplaced.text
