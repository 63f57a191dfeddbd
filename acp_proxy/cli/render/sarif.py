"""Findings as SARIF 2.1.0, which code hosts and editors show beside the lines.

A recording stands for its text form, whose lines are those of the results.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from acp_proxy import __version__
from acp_proxy.conformance.catalogue import address_of, rules
from acp_proxy.conformance.examples import examples_of
from acp_proxy.conformance.values import Rule, Severity
from acp_proxy.inspection.findings import Finding, in_order
from acp_proxy.wording import counted

MOST = 1_000
"""Results; code hosts take no file that is much larger."""
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_SITE = "https://agentclientprotocol.com"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_MOST_RELATED = 10
_FINGERPRINT = "acpProxyFinding/v1"


def finding_results(
    every: Sequence[tuple[str, Finding]], total: int, notes: list[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns descriptions of rules, and the results that name them, the worst first.

    Args:
        every: findings, each with the path of its text form.
        total: how many were found.
        notes: gets one more, if these are more than the results.
    """
    order = {id(f): n for n, f in enumerate(in_order([finding for _, finding in every]))}
    shown = sorted(every, key=lambda pair: (pair[1].known, order[id(pair[1])]))[:MOST]
    broken = {name: at for at, name in enumerate(dict.fromkeys(f.rule for _, f in shown))}
    if total > len(shown):
        notes.append(f"{counted(total, 'finding')}, of which the worst {len(shown):,} are results")
    results = [_result(place, finding, broken) for place, finding in shown]
    return [_rule(name) for name in broken], results


def log_of(
    command: str,
    descriptions: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    notes: Sequence[str],
    *,
    is_done: bool,
) -> dict[str, Any]:
    """Returns a log with one run.

    Args:
        command: of acp-proxy.
        descriptions: of rules.
        results: each with the number of its rule.
        notes: sentences on all of it.
        is_done: whether everything could be read.
    """
    run = {
        "tool": {
            "driver": {
                "name": "acp-proxy",
                "fullName": f"acp-proxy {command}",
                "version": __version__,
                "informationUri": _SITE,
                "rules": descriptions,
            }
        },
        "invocations": [
            {
                "executionSuccessful": is_done,
                "toolExecutionNotifications": [
                    {"level": "note", "message": {"text": ended(text)}} for text in notes
                ],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def location(place: str, line: int | None) -> dict[str, Any]:
    """Returns the place of a result.

    Args:
        place: the path of a text form.
        line: in it; None for all of it.
    """
    path = PurePosixPath(Path(place).as_posix())
    uri = f"file://{quote(str(path))}" if path.is_absolute() else quote(str(path))
    region = {"region": {"startLine": line}} if line is not None else {}
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, **region}}


def ended(text: str) -> str:
    """Returns a sentence with its full stop."""
    return text if text.endswith(".") else f"{text}."


def _rule(name: str) -> dict[str, Any]:
    rule = rules().get(name)
    if rule is None:  # another version may know more of them
        return {"id": name, "shortDescription": {"text": ended(name)}, "help": {"text": name}}
    addresses = [url for source in rule.source if (url := address_of(source)) is not None]
    found: dict[str, Any] = {
        "id": rule.id,
        "name": _name(rule.id),
        "shortDescription": {"text": ended(rule.text)},
        "fullDescription": {"text": ended(f"{rule.text.rstrip('.')}. Found by: {rule.detection}")},
        "help": {"text": "\n".join(_help(rule))},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
        "properties": {"tags": ["acp", rule.group, *rule.dialects]},
    }
    if addresses:
        found["helpUri"] = addresses[0]
    return found


def _help(rule: Rule) -> list[str]:
    lines = [ended(rule.text), "", f"Source: {'; '.join(rule.source)}."]
    for one in examples_of(rule.id):
        after = f", after {one.after}" if one.after else ""
        lines += ["", f"{'Breaks' if one.is_broken else 'Keeps'} it{after}:", "", *one.lines]
    return lines


def _result(place: str, finding: Finding, broken: Mapping[str, int]) -> dict[str, Any]:
    method = f" {finding.method}" if finding.method else ""
    see = f" (see {', '.join(f'#{seq}' for seq in finding.related[:_MOST_RELATED])})"
    related = see if finding.related else ""
    text = f"By the {finding.by}, at frame {finding.seq}{method}: {finding.text}{related}"
    return {
        "ruleId": finding.rule,
        "ruleIndex": broken[finding.rule],
        "level": _LEVELS[finding.severity],
        "message": {"text": ended(text)},
        "locations": [location(place, finding.line)],
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


def _name(rule: str) -> str:
    return "".join(word.capitalize() for word in rule.replace(".", "-").split("-"))
