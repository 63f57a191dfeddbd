"""Audits a recording: lists what the agent did, where, and who permitted it."""

from collections import Counter
from functools import partial

from acp_proxy.filters import EVERYTHING, Filter
from acp_proxy.inspection.audit.audit_pass import AuditPass
from acp_proxy.inspection.audit.findings import OF_MISSING_LINES, find
from acp_proxy.inspection.audit.outcomes import finish
from acp_proxy.inspection.audit.sessions import command_line
from acp_proxy.inspection.audit.values import Action, Audit
from acp_proxy.inspection.fault_effects import FaultEffects
from acp_proxy.inspection.message_pass import Watch
from acp_proxy.recording import Recording
from acp_proxy.store.reader import RecordingReader
from acp_proxy.store.recorded_events import events as read_events


def audit(reader: RecordingReader, chosen: Filter = EVERYTHING, watch: Watch = iter) -> Audit:
    """Returns what an agent did, after one pass over the frames.

    Args:
        reader: the recording.
        chosen: a filter; an action is listed if any of its frames matches.
        watch: yields the runs of frames that it is given, and may show the progress.

    Raises:
        UnreadableRecording: the file is damaged, or locked.
    """
    made_up = FaultEffects(reader, [*read_events(reader)]).injected
    reading = AuditPass(reader, made_up)
    reading.read(watch)
    recording = reader.recording
    actions = [*map(partial(_known, recording), finish(reading.log))]
    if chosen is not EVERYTHING:
        actions = _matching(reader, actions, chosen)
    counts: dict[str, Counter[str]] = {}
    for action in actions:
        counts.setdefault(action.kind.value, Counter())[action.status.value] += 1
    asked = {id(one): one for action in actions for one in action.permissions}
    found = find(actions, asked=reading.log.permissions.any_asked)
    if not recording.has_all_lines:
        found = [finding for finding in found if finding.kind not in OF_MISSING_LINES]
    return Audit(
        recording=recording,
        path=str(reader.path),
        live=reader.live,
        agent_command=command_line(recording.command),
        sessions=[*reading.sessions.sessions.values()],
        actions=actions,
        counts={kind: dict(statuses) for kind, statuses in counts.items()},
        sources=dict(Counter(action.source.value for action in actions)),
        answers=dict(Counter(one.decision for one in asked.values())),
        findings=found,
        left_out=reading.log.left_out,
    )


def _known(recording: Recording, action: Action) -> Action:
    """Removes the times that the source of an imported recording does not know."""
    if not recording.has_times:
        action.t_ns = None
    if not recording.has_date:
        action.at = None
    if not recording.has_durations:
        for one in action.permissions:
            one.waited_ns = None
    return action


def _matching(reader: RecordingReader, actions: list[Action], chosen: Filter) -> list[Action]:
    """Returns the actions with a matching frame, without reading the lines of the frames."""
    wanted = {seq for action in actions for seq in action.seqs}
    matching = {head.seq for head in reader.heads(chosen) if head.seq in wanted}
    return [action for action in actions if not matching.isdisjoint(action.seqs)]
