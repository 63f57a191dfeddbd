"""A finding of another run is known to `check` as often as the baseline has the finding."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from attrs import evolve

from acp_proxy.base.errors import BadBaseline
from acp_proxy.check.baseline import (
    Baseline,
    BaselineWriter,
    KnownFinding,
    fingerprint,
    generic,
    read_baseline,
)
from acp_proxy.check.catalogue import rules
from acp_proxy.check.checker import Checker
from acp_proxy.explain.findings import Finding, Severity
from acp_proxy.store.reader import RecordingReader
from tests.support.cases import each_case

PAIRS = sorted((Path(__file__).parents[2] / "data/pairs").glob("*.a.jsonl"))
FOUND = Finding("rpc.id-reused", Severity.ERROR, "client", 7, 'id "a1" is still open')


@each_case(
    ("text", "other"),
    [
        ('cwd "/home/me/a b/x" is wrong', 'cwd "C:\\work\\y" is wrong'),
        ('cwd "/home/me/a/very/long/one…', 'cwd "/tmp/x"'),
        ("session 018f-aa2 is unknown", "session 77 is unknown"),
        ('session "aBcDeFgHiJkLmNoPqR" is unknown', 'session "ses_1" is unknown'),
        ("token [redacted:token:1f0c9a3e] in it", "token [redacted:token:77aa1234] in it"),
        ("after 1.5 s", "after 20 s"),
        ("/tmp/a is no directory", "/var/b/c is no directory"),
        ("/params/prompt/0/text: expected string", "/params/prompt/12/text: expected string"),
    ],
)
def test_what_differs_between_runs_does_not_count(text: str, other: str) -> None:
    """If a finding differs from the baseline only in ids, `check` treats it as known."""
    assert generic(text) == generic(other)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("session/prompt was not answered", "session/new was not answered"),
        ('unknown mode "ask"', 'unknown mode "code"'),
        ('update "tool_call" is early', 'update "plan" is early'),
        ("no such members: /params/mode", "no such members: /params/title"),
        ("/params/mode: expected string", "/params/mode/id: expected string"),
    ],
)
def test_a_finding_about_another_name_is_new(text: str, other: str) -> None:
    """If a finding names another method or mode than the baseline does, `check` calls it new."""
    assert generic(text) != generic(other)


def test_rule_side_and_method_count() -> None:
    """If a finding's rule, side or method differs from the baseline, `check` calls the finding new.

    If only its frame number differs, the finding is known.
    """
    assert fingerprint(evolve(FOUND, seq=99, related=(3,))) == fingerprint(FOUND)
    for other in (
        evolve(FOUND, rule="rpc.shape"),
        evolve(FOUND, by="agent"),
        evolve(FOUND, method="session/new"),
    ):
        assert fingerprint(other) != fingerprint(FOUND)


def test_a_finding_is_known_as_often_as_it_was_found(tmp_path: Path) -> None:
    """If a baseline has a finding twice, `check` calls the third occurrence in a recording new."""
    writer = BaselineWriter()
    assert writer.has(FOUND)
    assert writer.has(evolve(FOUND, seq=9, text='id "b2" is still open'))
    path = tmp_path / "known.json"
    path.write_text(writer.written({FOUND.rule}), encoding="utf-8")
    known = read_baseline(path)
    assert [known.has(FOUND) for _ in range(3)] == [True, True, False]
    assert writer.count == known.known[0].count == 2


@each_case("path", PAIRS, ids=lambda path: path.name)
def test_another_run_of_a_scenario_has_nothing_new(path: Path) -> None:
    """A baseline of `check` from one run of a scenario covers all findings of another run."""
    writer = BaselineWriter()
    for name in (path, path.with_name(path.name.replace(".a.", ".b."))):
        with RecordingReader(name) as reader:
            findings = Checker(reader).read().findings
        if name == path:
            for finding in findings:
                writer.has(finding)
            known = Baseline(
                KnownFinding(**finding)
                for finding in json.loads(writer.written(rules()))["findings"]
            )
    assert [finding.text for finding in findings if not known.has(finding)] == []


def test_a_long_word_is_read_quickly() -> None:
    """`check` makes the fingerprint of a finding with 200,000 letters in less than 5 seconds."""
    began = time.process_time()
    generic("a" * 200_000)
    assert time.process_time() - began < 5


def test_what_is_known_of_other_rules_stays() -> None:
    """If `check` updates a baseline for some rules, it keeps the findings of other rules."""
    before = BaselineWriter()
    before.has(FOUND)
    before.has(evolve(FOUND, rule="rpc.shape"))
    written = json.loads(before.written({"rpc.shape", "rpc.id-reused"}))
    after = BaselineWriter(KnownFinding(**finding) for finding in written["findings"])
    left = json.loads(after.written({"rpc.shape"}))
    assert [finding["rule"] for finding in left["findings"]] == ["rpc.id-reused"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", 'expected "acp_proxy_baseline": 1, got no such member'),
        ('{"acp_proxy_baseline": 2}', 'expected "acp_proxy_baseline": 1, got 2'),
        ('{"acp_proxy_baseline": 1}', "expected findings with rule, by, fingerprint, count and"),
        ('{"acp_proxy_baseline": 1, "findings": [{"rule": 1}]}', "expected findings with rule"),
    ],
)
def test_a_bad_file_is_one_error(tmp_path: Path, text: str, said: str) -> None:
    """`check` refuses a baseline that is invalid JSON or lacks members; the error is one line."""
    path = tmp_path / "known.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadBaseline) as raised:
        read_baseline(path)
    assert str(raised.value).startswith(f"cannot read {path} as known findings: {said}")


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    """If the file of `check --baseline` does not exist, the error names the file."""
    with pytest.raises(BadBaseline, match="as known findings"):
        read_baseline(tmp_path / "none.json")
