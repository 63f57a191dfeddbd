"""Writes an audit as Markdown, for a ticket or a pull request."""

import shlex
from collections.abc import Iterator, Sequence

from acp_proxy.cli.render import audit_rows as rows
from acp_proxy.cli.render.markdown import code, escaped, prose
from acp_proxy.inspection.audit.values import PROBLEM, Action, Audit
from acp_proxy.inspection.origins import origin_rows

_TITLES = (
    "at (UTC)", "frame", "session", "turn", "how", "what", "in", "status", "known", "permission",
    "remarks",
)  # fmt: skip


def markdown(audit: Audit) -> Iterator[str]:
    """Yields the lines of an audit in Markdown."""
    recording = audit.recording
    yield f"# Audit of {code(recording.name)}"
    yield ""
    yield from _facts(audit)
    yield ""
    yield "## To look at"
    yield ""
    for finding in audit.findings:
        mark = "**Problem**" if finding.severity == PROBLEM else "Remark"
        yield f"- {mark}: {prose(finding.text)}"
    if not audit.findings:
        yield "Nothing."
    for group, actions in rows.groups(audit.actions):
        yield ""
        yield f"## {group.title.capitalize()}"
        yield ""
        yield from _table(audit, group, actions)
    yield ""
    yield f"{rows.CLAIMED_NOTE} {rows.PATHS_NOTE}"


def _facts(audit: Audit) -> Iterator[str]:
    recording = audit.recording
    state = "running" if audit.live else recording.shown_state
    started = escaped(recording.started_at if recording.has_zone else str(recording.clock()))
    where = "" if recording.lost("command") else f" in {code(recording.cwd)}"
    facts = [
        ("recording", f"{code(recording.id)}, {escaped(state)}"),
        ("agent", code(shlex.join(audit.agent_command))),
        ("version", code(recording.agent_title)),
        ("client", code(recording.client_title)),
        *((label, escaped(text)) for label, text in origin_rows(recording)),
        ("started", f"{started}{where}" if recording.has_date else ""),
        *(("session", f"{code(one.id)} in {code(rows.session(one))}") for one in audit.sessions),
        *(("MCP server", code(one)) for one in rows.servers(audit.sessions)),
        ("actions", rows.totals(audit)),
        ("permission", escaped(rows.answers(audit)) if audit.actions else ""),
        ("left out", f"{audit.left_out:,} later actions" if audit.left_out else ""),
    ]
    yield "| | |"
    yield "|---|---|"
    yield from (f"| {name} | {value} |" for name, value in facts if value)


def _table(audit: Audit, group: rows.Group, actions: Sequence[Action]) -> Iterator[str]:
    seqs = {action.id: action.seq for action in audit.actions}
    recording = audit.recording
    yield f"| {' | '.join(_TITLES)} |"
    yield f"|{'---|' * len(_TITLES)}"
    for action in actions:
        cells = [
            (action.at or "")[:19].replace("T", " "),
            prose(f"#{action.seq}"),
            code(action.session or ""),
            str(action.turn or ""),
            escaped(rows.how(action, group)),
            ", ".join(map(_marked, rows.what(action))),
            _marked(rows.directory(action)),
            escaped(rows.status(action, recording)),
            action.source.value,
            prose(rows.permission(action, recording)),
            prose(rows.remarks(action, seqs)),
        ]
        yield f"| {' | '.join(cells)} |"


def _marked(mark: rows.Mark) -> str:
    return " ".join(filter(None, (f"**{mark.word}**" if mark.word else "", code(mark.text))))
