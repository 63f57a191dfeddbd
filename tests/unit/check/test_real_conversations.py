"""Tests the findings in conversations of real agents and clients.

A finding that is missing from the tables below is a false alarm, or a new entry that somebody has
to defend with the specification.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acp_proxy.check.check_values import Severity
from acp_proxy.check.checker import Checker
from acp_proxy.explain.show.summary import summarize
from acp_proxy.store.reader import RecordingReader
from tests.support import captures
from tests.support.log_writer import LogWriter
from tests.support.shipped_recordings import REPORTS
from tests.unit.explain.show.test_checks import play

if TYPE_CHECKING:
    from collections.abc import Iterator

    from acp_proxy.explain.findings import Finding
    from acp_proxy.explain.show.summary_values import ErrorTally

ENTRIES = json.loads((REPORTS / "reports.json").read_text(encoding="utf-8"))
RECORDINGS = Path(__file__).parents[3] / "recordings"

AGAIN = {("tool.id-reused", "agent")}
"""Claude Code announces a tool call by two ``tool_call``: "a unique identifier for this tool call
within the session"; what is known of it later belongs into a ``tool_call_update``."""
LINE_0 = {("tool.line", "agent")}
"""It also names line 0: "Line numbers are 1-based"."""
UNANSWERED = {("rpc.unanswered", "agent")}
"""The agent died in the middle of a turn: "Returned when the turn ends"; it never did."""
OPEN_CALL = {("turn.tools-open", "agent")}
"""A turn ends once "there are no pending tool calls"."""

EXPECTED: dict[str, set[tuple[str, str]]] = {
    "claude-code-acp-0.16.2/big.jsonl.gz": AGAIN,
    "claude-code-acp-0.16.2/files.jsonl": AGAIN | LINE_0,
    "claude-code-acp-0.16.2/parallel.jsonl": AGAIN | LINE_0,
    "claude-code-acp-0.16.2/perm_allow.jsonl": AGAIN,
    "claude-code-acp-0.16.2/perm_reject.jsonl": AGAIN,
    # The client answered "cancelled" without a cancel: "If the current prompt turn gets cancelled".
    "claude-code-acp-0.16.2/perm_cancel.jsonl": AGAIN | {("cancel.permission-unasked", "client")},
    "claude-code-acp-0.16.2/killed.jsonl": UNANSWERED,
    "gemini-0.61.0/killed.jsonl": UNANSWERED,
    "gemini-0.61.0/perm_cancel.jsonl": {("cancel.permission-unasked", "client")},
    # The client lists sessions though that is not offered ("Clients MUST verify"), and goes on with
    # a session that could not be loaded.
    "gemini-0.61.0/reload.2.jsonl": {
        ("session.list-capability", "client"),
        ("session.id-unknown", "client"),
    },
    # "the Agent MUST respond to the session/load request" once "all the conversation entries have
    # been streamed".
    "gemini-0.61.0-load.jsonl": {("session.load-late-replay", "agent")},
    # Terminals that nobody has created, and a capability that the schema does not have.
    "codex-acp-2.6.0.jsonl": {("tool.terminal-unknown", "agent"), ("meta.root-field", "agent")},
    # "The Agent MUST release the terminal when it's no longer needed".
    "fast-agent-0.10.48.jsonl": {("term.leaked", "agent")},
    # A method of type terminal for a client without auth.terminal, calls that never end, and an
    # error for a cancelled turn: "Agents MUST catch these errors".
    "hermes-agent-0.19.0.jsonl": {
        ("auth.terminal-offered", "agent"), ("cancel.error", "agent"), *OPEN_CALL,
    },
    # "If readTextFile or writeTextFile is false or not present, the Agent MUST NOT attempt to
    # call the corresponding file system method".
    "opencode-1.18.33-no-files.jsonl": {("fs.write-capability", "agent")},
    # Recordings that were made to be sick.
    "crash.db": UNANSWERED,
    "late-updates.db": {("turn.update-late", "agent"), *OPEN_CALL},
    "lost-permission.db": {("perm.unanswered", "client")},
    "wrong-params.db": {("rpc.schema-params", "client"), ("meta.root-field", "client")},
}  # fmt: skip
"""The errors and warnings of each conversation that has some."""
_Blamed = list[tuple[str, "str | None"]]
DIED: _Blamed = [("agent.ended", "environment")]
REFUSED: _Blamed = [("answer.error", "agent")]
PROVIDER: _Blamed = [("answer.error", "environment")]
"""The service of the model refused."""
TOTALS: _Blamed = [("answer.usage-total", "agent")]
"""The usage in the answers to prompts is of the session so far."""
WENT_WRONG: dict[str, _Blamed] = {
    "claude-code-acp-0.16.2/killed.jsonl": DIED,
    "claude-code-acp-0.16.2/llmerror.jsonl": PROVIDER,
    "gemini-0.61.0/killed.jsonl": DIED,
    "gemini-0.61.0/llmerror.jsonl": PROVIDER,
    "gemini-0.61.0/reload.2.jsonl": [
        *REFUSED, ("answer.error", None), ("answer.error", "client"),
    ],
    "claude-agent-acp-0.101.0.jsonl": REFUSED,
    "codex-acp-rust-0.16.0.jsonl": PROVIDER,
    "fast-agent-0.10.48.jsonl": PROVIDER,
    "copilot-1.0.102.jsonl": TOTALS,
    "hermes-agent-0.19.0.jsonl": [*REFUSED, *TOTALS],
    "mistral-vibe-3.0.2.jsonl": [*REFUSED, *TOTALS],
    "opencode-1.18.33.jsonl": REFUSED,
    "crash.db": [("agent.ended", "agent")],
    "hang.db": [("wait.unanswered", None)],
    "lost-permission.db": [("wait.unanswered", "client")],
    "wrong-params.db": [("answer.error", "client"), ("answer.error", "client")],
}  # fmt: skip
"""The problems of each conversation, with the side to blame; other conversations have none."""


CAPTURES = captures.all_captures()
CONVERSATIONS = [*CAPTURES, *captures.all_text_forms(), *sorted(RECORDINGS.glob("*.db"))]


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}" if path in CAPTURES else path.name


@contextlib.contextmanager
def _opened(path: Path, directory: Path) -> Iterator[RecordingReader]:
    if path in CAPTURES:
        with LogWriter(directory / "x.db") as recorder:
            play(captures.load(path), recorder)
        path = directory / "x.db"
    with RecordingReader(path) as reader:
        yield reader


@pytest.mark.parametrize("path", CONVERSATIONS, ids=_name)
def test_real_peers_are_judged_by_the_specification(tmp_path: Path, path: Path) -> None:
    """`check` finds in each recording of a real agent exactly the findings in the tests' table."""
    with _opened(path, tmp_path) as reader:
        findings, summary = Checker(reader).read().findings, summarize(reader)
    _agree(findings, summary.error_codes)
    went_wrong = [(finding.rule, finding.by) for finding in summary.findings]
    assert went_wrong == WENT_WRONG.get(_name(path), [])
    told = {
        (finding.rule, finding.by) for finding in findings if finding.severity is not Severity.INFO
    }
    assert told == EXPECTED.get(_name(path), set())


@pytest.mark.parametrize("path", sorted(REPORTS.glob("*.jsonl")), ids=_name)
def test_the_side_that_a_bug_report_blames_is_charged(path: Path) -> None:
    """For a conversation rebuilt from a bug report, `check` blames the side that was at fault."""
    with RecordingReader(path) as reader:
        findings, errors = Checker(reader).read().findings, summarize(reader).error_codes
    _agree(findings, errors)
    for entry in (item for item in ENTRIES if item["file"] == path.name):
        serious = [item for item in findings if item.severity is not Severity.INFO]
        at = {item.seq for item in serious if item.by == entry["side"]}
        assert at & {entry["seq"], *entry["also"]} if entry["side"] else not serious


def test_the_table_is_about_conversations_that_exist() -> None:
    """The tests' table of expected `check` findings names only recordings that exist."""
    assert {*EXPECTED, *WENT_WRONG} <= {_name(path) for path in CONVERSATIONS}


def _agree(findings: list[Finding], errors: list[ErrorTally]) -> None:
    """Asserts that the side charged with an error is among the sides that the findings blame."""
    for error in errors:
        blamed = {
            finding.by for finding in findings if error.seq in (finding.seq, *finding.related)
        }
        if error.charged in ("client", "agent"):
            assert not blamed or error.charged in blamed, error
