"""JUnit XML for test runners: one suite of cases that passed or failed.

Most control characters, and unpaired surrogates, are escaped, because XML cannot contain them.
"""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from acp_proxy.base.wording import visible
from acp_proxy.playback.shared.divergence import Divergence, masked_lines, root_cause

if TYPE_CHECKING:
    from acp_proxy.playback.replay.replay_report import ReplayReport

LinesOf = Callable[[Divergence], Iterable[str]]
"""A function that returns the lines about a divergence."""


@frozen
class Failure:
    """Why a case failed."""

    type: str
    """The kind of the failure, in one word."""
    message: str
    """The failure in one sentence."""
    lines: Sequence[str] = ()
    """All details, line by line."""


@frozen
class Case:
    """A test case."""

    classname: str
    """The name of the group of the case, with dots between its parts."""
    name: str
    failure: Failure | None = None
    seconds: float | None = None
    """The duration of the case; None if it was not measured."""
    output: Sequence[str] | None = None
    """The lines that the case printed; None if they were not captured."""
    skipped: str | None = None
    """Why the case tested nothing; None if it tested something."""


def suite(name: str, cases: Sequence[Case]) -> str:
    """Returns the text of a JUnit XML file, to be written as UTF-8.

    Args:
        name: the name of the suite.
        cases: the cases, in order.
    """
    failures = sum(case.failure is not None for case in cases)
    root = ET.Element(
        "testsuite", name=visible(name), tests=str(len(cases)), failures=str(failures), errors="0"
    )
    for case in cases:
        _add(root, case)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def replay_suite(replay_report: "ReplayReport") -> str:
    """Returns a report as JUnit XML: one case for the replay, and one for each diverged lane."""
    from acp_proxy.playback.replay.replay_report import REPORTER, headline

    is_incomplete = replay_report.verdict == "incomplete"
    failure = Failure("incomplete", headline(replay_report)) if is_incomplete else None
    lanes = lane_cases(
        f"replay.{replay_report.recording}", replay_report.divergences, REPORTER.lines_of
    )
    output = masked_lines(replay_report.divergences) or None
    whole = Case("replay", replay_report.recording, failure, output=output)
    return suite(f"acp-proxy replay {replay_report.recording}", [whole, *lanes])


def lane_cases(
    classname: str, divergences: Sequence[Divergence], lines_of: LinesOf
) -> Iterator[Case]:
    """Yields a failed case for each lane with divergences that count, in the order of lane names.

    Args:
        classname: the class name of all cases.
        divergences: the divergences of all lanes.
        lines_of: returns the lines that describe a divergence.
    """
    lanes: dict[str, list[Divergence]] = {}
    for divergence in divergences:
        lanes.setdefault(divergence.lane, []).append(divergence)
    for lane in sorted(lanes):
        if (failure := failure_of(lanes[lane], lines_of)) is not None:
            yield Case(classname, lane, failure)


def failure_of(divergences: Sequence[Divergence], lines_of: LinesOf) -> Failure | None:
    """Returns the failure of a case, with its root cause; None if no divergence counts.

    Args:
        divergences: the divergences of the case.
        lines_of: returns the lines that describe a divergence.
    """
    cause = root_cause(divergences)
    if cause is None:
        return None
    lines = [line for divergence in divergences for line in lines_of(divergence)]
    return Failure(cause.kind, cause.summary, lines)


def _add(root: ET.Element, case: Case) -> None:
    element = ET.SubElement(
        root, "testcase", classname=visible(case.classname), name=visible(case.name)
    )
    if case.seconds is not None:
        element.set("time", f"{case.seconds:.3f}")
    if (failure := case.failure) is not None:
        message = visible(failure.message)
        child = ET.SubElement(element, "failure", type=visible(failure.type), message=message)
        child.text = _text(failure.lines)
    if case.skipped is not None:
        ET.SubElement(element, "skipped", message=visible(case.skipped))
    if case.output is not None:
        ET.SubElement(element, "system-out").text = _text(case.output)


def _text(lines: Iterable[str]) -> str:
    return "\n".join(map(visible, lines))
