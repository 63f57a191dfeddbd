"""What the processes of a batch are forked from: it has imported and computed what a job needs.

Regular expressions and tables of schemas are made when they are first needed, which in a process
for one job would be for every recording. They are made here by checking and comparing a
conversation.
"""

import acp_proxy.cli.commands.faults.sweep
import acp_proxy.cli.commands.verify
import acp_proxy.cli.work_directory
import acp_proxy.runtime.verifier
import acp_proxy.store.directory
import acp_proxy.store.log_recovery  # noqa: F401
from acp_proxy.batches.batch import Job
from acp_proxy.batches.results import JobVerdict
from acp_proxy.cli.batch_jobs import Printed, perform
from acp_proxy.cli.recordings import STDIN
from acp_proxy.cli.render.diff_reports import report_diff
from acp_proxy.conformance.catalogue import chosen_rules
from acp_proxy.conformance.judgement import check_whole
from acp_proxy.conformance.report import reported
from acp_proxy.difference.diff import diff
from acp_proxy.store.reader import RecordingReader

_CONVERSATION = (
    b'{"acp_proxy":1,"recording":{"id":"c0ffee000001","name":"warm-up","state":"complete",'
    b'"started_at":"2026-01-01T00:00:00+00:00","tool_version":"0.1.0","command":["agent"]}}\n',
    b'{"stream":"to-agent","message":{"jsonrpc":"2.0","id":0,"method":"initialize","params":'
    b'{"protocolVersion":1}}}\n',
    b'{"stream":"to-client","message":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}}\n',
    b'{"stream":"to-client","message":{"jsonrpc":"2.0","method":"session/update","params":'
    b'{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":'
    b'{"type":"text","text":"api_key=0"}}}}}\n',
)


def work(job: Job) -> JobVerdict:
    """Runs a job in this process, which ends with it; returns the verdict."""
    return perform(job, Printed())


with RecordingReader(STDIN, _CONVERSATION) as a, RecordingReader(STDIN, _CONVERSATION) as b:
    report_diff(diff(a, b), [])
    reported(a, check_whole(a), chosen_rules((), ()))
