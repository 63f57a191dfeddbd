"""JUnit XML, which test runners read: one suite of cases, each of which passed or failed.

Whatever was recorded, the XML is valid: text becomes visible first, since there is no way to write
most control characters in XML, nor half of a surrogate pair.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence
from pathlib import Path

from attrs import frozen

from acp_proxy.cli.main import Refusal
from acp_proxy.inspection.safe_text import visible


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


def write(path: Path, name: str, cases: Sequence[Case]) -> None:
    """Writes a suite into a file.

    Raises:
        Refusal: it cannot be written.
    """
    try:
        path.write_text(suite(name, cases), encoding="utf-8")
    except OSError as e:
        reason = (e.strerror or str(e)).lower()
        raise Refusal(f"cannot write {path}: {reason}") from None


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
