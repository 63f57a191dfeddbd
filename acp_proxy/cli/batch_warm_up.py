"""Does once what each worker of a batch would do first: imports, expressions, tables of schemas.

A worker is forked for one job, so what is computed when it is first needed would be computed for
every recording, in four times the time that a short one takes. It is computed here by reading,
checking and comparing a conversation.
"""

from acp_proxy.cli.recordings import STDIN
from acp_proxy.cli.render.diff_reports import report_diff
from acp_proxy.conformance.choice import chosen_rules
from acp_proxy.conformance.judgement import check_whole
from acp_proxy.conformance.report import CheckedRecording, reported
from acp_proxy.difference.diff import diff
from acp_proxy.store.reader import RecordingReader

_CONVERSATION = (
    b'{"acp_proxy":1,"recording":{"id":"c0ffee000001","name":"warm-up","state":"complete",'
    b'"started_at":"2026-01-01T00:00:00+00:00","tool_version":"0.1.0","command":["agent"],'
    b'"cwd":"/tmp","platform":"","dialect":"v1","redaction":"none"}}\n',
    b'{"event":"start","data":{"command":["agent"],"cwd":"/tmp"}}\n',
    b'{"stream":"to-agent","message":{"jsonrpc":"2.0","id":0,"method":"initialize","params":'
    b'{"protocolVersion":1}}}\n',
    b'{"stream":"to-client","message":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}}\n',
    b'{"stream":"to-agent","message":{"jsonrpc":"2.0","id":1,"method":"session/new","params":'
    b'{"cwd":"/tmp","mcpServers":[]}}}\n',
    b'{"stream":"to-client","message":{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}}\n',
    b'{"stream":"to-agent","message":{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":'
    b'{"sessionId":"s","prompt":[{"type":"text","text":"api_key=0"}]}}}\n',
    b'{"stream":"to-client","message":{"jsonrpc":"2.0","method":"session/update","params":'
    b'{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":'
    b'{"type":"text","text":"Hello"}}}}}\n',
    b'{"stream":"to-client","message":{"jsonrpc":"2.0","id":2,"result":'
    b'{"stopReason":"end_turn"}}}\n',
    b'{"event":"exit","data":{"code":0}}\n',
)


def warm_up() -> CheckedRecording:
    """Reads, checks and compares a conversation; returns what was found in it."""
    with RecordingReader(STDIN, _CONVERSATION) as a, RecordingReader(STDIN, _CONVERSATION) as b:
        report_diff(diff(a, b), [])
        return reported(a, check_whole(a), chosen_rules((), ()))
