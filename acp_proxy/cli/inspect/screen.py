"""Prints a recording's summary for a person."""

import json
from datetime import datetime

from acp_proxy.cli.output import fit, say, width
from acp_proxy.cli.overview import exit_text
from acp_proxy.inspection.preview import visible
from acp_proxy.inspection.summary import OpenRequest, Summary, TurnSummary
from acp_proxy.inspection.timeline import duration

_LABEL = 12


def show_summary(summary: Summary) -> None:
    """Prints the first screen."""
    recording = summary.recording
    state = "running" if summary.live else recording.state
    say(visible(f"{recording.name}  ({recording.id})  {state}"), bold=True)
    _row("file", summary.path)
    _row("command", " ".join(json.loads(recording.command)))
    _row("directory", recording.cwd)
    started = datetime.fromisoformat(recording.started_at).astimezone()
    _row("started", f"{started:%Y-%m-%d %H:%M:%S %z}, {duration(summary.duration_ns)}")
    _row("client", _peer(recording.client_name, recording.client_version))
    _row("agent", _peer(recording.agent_name, recording.agent_version))
    if recording.dialect:
        _row("dialect", f"{recording.dialect} ({recording.dialect_reason})")
    _row("ended", _ending(summary))
    _row("frames", ", ".join(f"{n} {name}" for name, n in summary.frames.items()))
    _row("kinds", ", ".join(f"{n} {name}" for name, n in summary.kinds.items()))
    if summary.errors:
        _row("errors", f"{summary.errors} requests were answered with an error", fg="red")
    if summary.kinds.get("invalid"):
        _row("not ACP", f"{summary.kinds['invalid']} lines were no messages", fg="red")
    _row("sessions", ", ".join(summary.sessions))
    _section("turns", [_turn(turn) for turn in summary.turns])
    _section("unanswered", [_open(request) for request in summary.unanswered], fg="red")
    _section("happened", summary.events, fg="magenta")
    _section("stderr", summary.stderr_tail, fg="yellow")


def _ending(summary: Summary) -> str:
    recording = summary.recording
    if summary.live:
        return "still running"
    code = exit_text(recording.exit_code, recording.exit_signal)
    parts = [f"exit {code}" if code and recording.exit_signal is None else code]
    if recording.state == "incomplete":
        parts.append("incomplete: the recorder was killed; what it had read is here")
    elif recording.end_reason:
        parts.append(recording.end_reason)
    return ", ".join(filter(None, parts))


def _peer(name: str | None, version: str | None) -> str:
    return " ".join(filter(None, (name, version))) or "(did not say its name)"


def _turn(turn: TurnSummary) -> str:
    end = turn.stop_reason or ("ended" if turn.end_seq else "never ended")
    counts = f"{turn.updates} updates, {turn.tool_calls} tool calls"
    took = duration(turn.duration_ns)
    return f"{turn.id}. #{turn.prompt_seq} {end} {took}  {counts}  {turn.prompt}"


def _open(request: OpenRequest) -> str:
    waited = duration(request.waited_ns)
    return (
        f"#{request.seq} {request.who_waits}: {request.method} (id {request.rpc_id}), {waited}"
        f"  {request.preview}"
    )


def _row(label: str, text: str, fg: str | None = None) -> None:
    if text:
        line = visible(f"{label:<{_LABEL}}{text}")
        say(line, **({"fg": fg} if fg else {}))


def _section(title: str, lines: list[str], fg: str | None = None) -> None:
    if not lines:
        return
    say()
    say(title, bold=True)
    for line in lines:
        say(fit(visible(f"  {line}"), width()), **({"fg": fg} if fg else {}))
