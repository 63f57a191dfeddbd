"""The reports of a check pass the validators of those who read them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import run
from tests.verdicts import EXITS, FINDING, header, verdict, write

ROOT = Path(__file__).parents[2]
RECORDINGS = sorted((ROOT / "recordings").glob("*.db"))
_PLATFORM = {"linux": "linux", "darwin": "darwin"}.get(sys.platform)
_SCHEMA = """
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:element name="testsuite"><xs:complexType>
    <xs:sequence><xs:element ref="testcase" minOccurs="0" maxOccurs="unbounded"/></xs:sequence>
    <xs:attribute name="name" type="xs:string" use="required"/>
    <xs:attribute name="tests" type="xs:nonNegativeInteger" use="required"/>
    <xs:attribute name="failures" type="xs:nonNegativeInteger" use="required"/>
    <xs:attribute name="errors" type="xs:nonNegativeInteger" use="required"/>
  </xs:complexType></xs:element>
  <xs:element name="testcase"><xs:complexType>
    <xs:sequence>
      <xs:element name="failure" minOccurs="0"><xs:complexType><xs:simpleContent>
        <xs:extension base="xs:string">
          <xs:attribute name="type" type="xs:string" use="required"/>
          <xs:attribute name="message" type="xs:string" use="required"/>
        </xs:extension></xs:simpleContent></xs:complexType></xs:element>
      <xs:element name="system-out" type="xs:string" minOccurs="0"/>
    </xs:sequence>
    <xs:attribute name="classname" type="xs:string" use="required"/>
    <xs:attribute name="name" type="xs:string" use="required"/>
    <xs:attribute name="time" type="xs:decimal"/>
  </xs:complexType></xs:element>
</xs:schema>
"""
_LINT = """
const { readFileSync } = require('fs');
const { validateXML } = require(process.argv[1]);
const [contents, schema] = process.argv.slice(2).map((path) => readFileSync(path, 'utf8'));
validateXML({ xml: [{ fileName: 'junit.xml', contents }], schema: [schema] }).then(
  (found) => console.log(JSON.stringify([found.valid, found.errors])));
"""


def merge_verdicts(directory: Path, command: str, *options: str | Path) -> None:
    """Merges a file of verdicts of all kinds, with text that is hard to write."""
    text = "a\x00\ud800]]> <b>&"
    findings = ({**FINDING, "text": text}, {**FINDING, "severity": "warning"})
    members = {"findings": findings, "broken": 5} if command == "check" else {}
    each = [
        verdict(f"r {n}/{text}.db", kind, text, command=command, error=text, **members)
        for n, kind in enumerate(EXITS)
    ]
    first = header("1/3", 99, command=command)
    assert (
        run("results", "merge", write(directory / command, first, *each), *options).exit_code == 2
    )


@pytest.mark.slow
@pytest.mark.skipif(_PLATFORM is None, reason="expected Linux or macOS")
def test_sarif_is_valid(tmp_path: Path, npm_packages: Path) -> None:
    """Microsoft's validator finds no error and nothing to warn of, with a baseline or without."""
    tool = npm_packages / f"@microsoft/sarif-multitool-{_PLATFORM}/Sarif.Multitool"
    tool.chmod(0o755)
    logs = [tmp_path / f"{name}.sarif" for name in ("plain", "known", "verify", "check")]
    known = tmp_path / "known.json"
    assert run("check", *RECORDINGS, "--sarif", logs[0]).exit_code == 1
    assert run("check", RECORDINGS[0], "--baseline", known, "--update-baseline").exit_code == 0
    assert run("check", *RECORDINGS, "--baseline", known, "--sarif", logs[1]).exit_code == 1
    merge_verdicts(tmp_path, "verify", "--sarif", logs[2])
    merge_verdicts(tmp_path, "check", "--sarif", logs[3])
    found = tmp_path / "validated.sarif"
    levels = ["--level", "Error;Warning", "--rule-kind", "Sarif;Ghas"]
    subprocess.run(
        [tool, "validate", *logs, "-o", found, *levels],
        check=True,
        capture_output=True,
        env=os.environ | {"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
    )
    (validation,) = json.loads(found.read_text(encoding="utf-8-sig"))["runs"]
    assert validation["invocations"][0]["executionSuccessful"]
    assert validation["results"] == []
    for log in logs:
        assert json.loads(log.read_text())["runs"][0]["results"]


@pytest.mark.slow
def test_junit_passes_xmllint(tmp_path: Path, npm_packages: Path) -> None:
    """It is well-formed, and has the elements and attributes that test runners read."""
    report, merged = tmp_path / "junit.xml", tmp_path / "merged.xml"
    assert run("check", *RECORDINGS, "--junit", report).exit_code == 1
    merge_verdicts(tmp_path, "verify", "--junit", merged)
    schema, wrong = tmp_path / "junit.xsd", tmp_path / "wrong.xml"
    schema.write_text(_SCHEMA, encoding="utf-8")
    wrong.write_text("<testsuite/>", encoding="utf-8")
    lint = ["node", "-e", _LINT, str(npm_packages / "xmllint-wasm")]
    for path, is_valid in ((report, True), (merged, True), (wrong, False)):
        done = subprocess.run([*lint, str(path), str(schema)], check=True, capture_output=True)
        valid, errors = json.loads(done.stdout)
        assert valid is is_valid, errors
