"""JUnit XML, which test runners read: one suite of cases, each of which passed or failed.

Whatever was recorded, the XML is valid: text becomes visible first, since there is no way to write
most control characters in XML, nor half of a surrogate pair.
"""

import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import frozen

from acp_proxy.engine.shared.divergence import Divergence, Rank
from acp_proxy.safe_text import visible


@frozen
class Failure:
    """Why a case failed."""

    type: str
    """One word."""
    message: str
    """One sentence."""
    lines: Sequence[str] = ()
    """All that there is to say."""


@frozen
class Case:
    """What can fail by itself."""

    classname: str
    """What runners sort cases by; dots part it."""
    name: str
    failure: Failure | None = None
    seconds: float | None = None
    """How long it took, if that was measured."""
    output: Sequence[str] | None = None
    """Lines that were printed, if somebody listened."""


def suite(name: str, cases: Sequence[Case]) -> str:
    """The text of a file, which is to be written as UTF-8.

    A case fails or passes. There are no errors, which are what went wrong with a test itself.
    """
    failures = sum(case.failure is not None for case in cases)
    root = ET.Element(
        "testsuite",
        name=visible(name),
        tests=str(len(cases)),
        failures=str(failures),
        errors="0",
    )
    for case in cases:
        _add(root, case)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def lane_cases(
    classname: str,
    divergences: Sequence[Divergence],
    lines_of: Callable[[Divergence], Iterable[str]],
) -> Iterator[Case]:
    """Yields a case for each lane with divergences that count, by name; each of them failed.

    Args:
        classname: of the cases.
        divergences: what went differently.
        lines_of: what there is to say of one.
    """
    lanes: dict[str, list[Divergence]] = {}
    for one in divergences:
        lanes.setdefault(one.lane, []).append(one)
    for lane in sorted(lanes):
        if (failure := failure_of(lanes[lane], lines_of)) is not None:
            yield Case(classname, lane, failure)


def failure_of(
    divergences: Sequence[Divergence], lines_of: Callable[[Divergence], Iterable[str]]
) -> Failure | None:
    """Why a case failed in which something went differently; None if none of that counts.

    It is called by what the rest may follow from.
    """
    counted = [one for one in divergences if one.rank is not Rank.INFO]
    if not counted:
        return None
    first = next((one for one in counted if one.rank is Rank.PRIMARY), counted[0])
    lines = [line for one in divergences for line in lines_of(one)]
    return Failure(first.kind, first.summary, lines)


def _add(root: ET.Element, case: Case) -> None:
    element = ET.SubElement(
        root, "testcase", classname=visible(case.classname), name=visible(case.name)
    )
    if case.seconds is not None:
        element.set("time", f"{case.seconds:.3f}")
    if (failure := case.failure) is not None:
        message = visible(failure.message)
        found = ET.SubElement(element, "failure", type=visible(failure.type), message=message)
        found.text = _text(failure.lines)
    if case.output is not None:
        ET.SubElement(element, "system-out").text = _text(case.output)


def _text(lines: Iterable[str]) -> str:
    return "\n".join(map(visible, lines))
