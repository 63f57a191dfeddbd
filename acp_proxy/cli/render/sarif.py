"""What a check found as SARIF 2.1.0, which code hosts and editors show beside the lines.

A recording stands for its text form, whose lines are those of the results.
"""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from acp_proxy import __version__
from acp_proxy.cli.render.check_reports import place_of
from acp_proxy.conformance.catalogue import rules
from acp_proxy.conformance.examples import examples_of
from acp_proxy.conformance.report import CheckedRecording, CheckReport, ReportedFinding, worst_first
from acp_proxy.conformance.sources import address_of
from acp_proxy.conformance.values import Rule, Severity
from acp_proxy.wording import counted

MOST = 1_000
"""Results; code hosts take no file that is much larger."""
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_SITE = "https://agentclientprotocol.com"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_MOST_RELATED = 10
_UNREADABLE = 2
"""The exit code if a recording cannot be read."""
_FINGERPRINT = "acpProxyFinding/v1"


def sarif(report: CheckReport, *, has_baseline: bool = False) -> dict[str, Any]:
    """Returns a log with one run; the worst results come first.

    Args:
        report: of the check.
        has_baseline: whether some findings may be known.
    """
    every = [(one, finding) for one in report.recordings for finding in one.findings]
    order = {id(f): n for n, f in enumerate(worst_first([finding for _, finding in every]))}
    every.sort(key=lambda pair: (pair[1].known, order[id(pair[1])]))
    shown = every[:MOST]
    broken = [*dict.fromkeys(finding.rule for _, finding in shown)]
    total = sum(count.count for one in report.recordings for count in one.broken)
    notes = [text for one in report.recordings for text in _notes(one)]
    if total > len(shown):
        notes.append(f"{counted(total, 'finding')}, of which the worst {len(shown):,} are results")
    results = [_result(one, finding, broken, has_baseline) for one, finding in shown]
    run = {
        "tool": {
            "driver": {
                "name": "acp-proxy",
                "fullName": "acp-proxy inspect check",
                "version": __version__,
                "informationUri": _SITE,
                "rules": [_rule(rules()[name]) for name in broken],
            }
        },
        "invocations": [
            {
                "executionSuccessful": report.exit != _UNREADABLE,
                "toolExecutionNotifications": [
                    {"level": "note", "message": {"text": _ended(text)}} for text in notes
                ],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    addresses = [url for source in rule.source if (url := address_of(source)) is not None]
    found: dict[str, Any] = {
        "id": rule.id,
        "name": _name(rule.id),
        "shortDescription": {"text": _ended(rule.text)},
        "fullDescription": {"text": _ended(f"{rule.text.rstrip('.')}. Found by: {rule.detection}")},
        "help": {"text": "\n".join(_help(rule))},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["acp", rule.group, *rule.dialects]},
    }
    if addresses:
        found["helpUri"] = addresses[0]
    return found


def _help(rule: Rule) -> list[str]:
    lines = [_ended(rule.text), "", f"Source: {'; '.join(rule.source)}."]
    for one in examples_of(rule.id):
        after = f", after {one.after}" if one.after else ""
        lines += ["", f"{'Breaks' if one.is_broken else 'Keeps'} it{after}:", "", *one.lines]
    return lines


def _result(
    one: CheckedRecording, finding: ReportedFinding, broken: Sequence[str], has_baseline: bool
) -> dict[str, Any]:
    method = f" {finding.method}" if finding.method else ""
    see = f" (see {', '.join(f'#{seq}' for seq in finding.related[:_MOST_RELATED])})"
    related = see if finding.related else ""
    text = f"By the {finding.by}, at frame {finding.seq}{method}: {finding.text}{related}"
    found: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": broken.index(finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": _ended(text)},
        "locations": [_location(one, finding.line)],
        "partialFingerprints": {_FINGERPRINT: finding.fingerprint},
        "properties": {
            "by": finding.by,
            "seq": finding.seq,
            "related": [*finding.related],
            "method": finding.method,
            "session": finding.session,
            "turn": finding.turn,
            "place": finding.place,
        },
    }
    if has_baseline:
        found["baselineState"] = "unchanged" if finding.known else "new"
    return found


def _location(one: CheckedRecording, line: int | None) -> dict[str, Any]:
    place = place_of(one)
    path = PurePosixPath(Path(place).as_posix())
    uri = f"file://{quote(str(path))}" if path.is_absolute() else quote(str(path))
    region = {"region": {"startLine": line}} if line is not None else {}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, **region}}


def _notes(one: CheckedRecording) -> list[str]:
    texts = [*one.notes]
    if one.unread:
        texts.append(f"{counted(len(one.unread), 'frame')} too large to be decoded")
    return [f"{one.recording.name}: {text}" for text in texts]


def _name(rule: str) -> str:
    return "".join(word.capitalize() for word in rule.replace(".", "-").split("-"))


def _ended(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
