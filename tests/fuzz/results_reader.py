"""Fuzzes the reader of results: any file is refused, or merged and written in every form."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

from acp_proxy.batches.merged import DifferentBatches, MergedResults, ResultsMerger, summary
from acp_proxy.batches.results import VerdictKind, line_of
from acp_proxy.batches.results_file import read_results
from acp_proxy.cli.render.results_markdown import LONGEST, MARKER, markdown
from acp_proxy.cli.render.results_reports import MOST_ANNOTATIONS, github_annotations, junit
from acp_proxy.cli.render.results_rows import headline, reason, remarks
from acp_proxy.errors import BadResults
from tests.fuzz import scratch
from tests.fuzz.target import Target
from tests.verdicts import EXITS, FINDING, header, lines, verdict


def check(data: bytes) -> None:
    """Merges a file, writes every report, and merges what was merged once more."""
    try:
        found = _merged(data)
    except (BadResults, DifferentBatches, ValueError) as e:
        assert str(e)
        return
    assert found.exit in range(4)
    assert len(found.recordings) == sum(found.counts.values())
    page = markdown(found)
    assert page.startswith(f"{MARKER}\n")
    assert len(page.encode()) <= LONGEST
    assert all(line.replace("\t", "").isprintable() for line in page.split("\n"))
    shown = [
        headline(found),
        *remarks(found),
        *map(reason, found.failed),
        *github_annotations(found),
    ]
    assert all(line.isprintable() for line in shown)
    assert len([*github_annotations(found)]) <= MOST_ANNOTATIONS
    ET.fromstring(junit(found).encode())
    assert summary(found).verdicts == len(found.recordings)
    each = [one for both in found.recordings for one in (both.verdict, *both.others)]
    again = _merged(b"".join([line_of(found.header), *map(line_of, each)]))
    assert again.recordings == found.recordings
    assert again.exit == found.exit


def _merged(data: bytes) -> MergedResults:
    path = scratch.directory("results_reader") / "results.jsonl"
    path.write_bytes(data)
    reader, merger = read_results(path), ResultsMerger()
    merger.begin("results.jsonl", reader.header)
    for one in reader:
        merger.add(one)
    return merger.merged()


def _seeds() -> list[bytes]:
    every = [verdict(f"{n}.db", kind, "x") for n, kind in enumerate(EXITS)]
    checked = [
        verdict(f"{n}.db", VerdictKind.FINDINGS, command="check", findings=(FINDING,), broken=3)
        for n in range(2)
    ]
    conflict = [verdict("a"), verdict("a", VerdictKind.STALLED, error="x")]
    return [
        lines(header(None, 7), every),
        *(lines(header(None, 7), [one]) for one in every),
        lines(header("3/7", 2, command="check"), checked),
        lines(header(None, 2), conflict),
        lines(header("1/2", 1), conflict)[:-5],
    ]


_MEMBERS = (*json.loads(line_of(verdict("a"))), *json.loads(line_of(header())), *FINDING)
WORDS = (*(json.dumps(name).encode() + b":" for name in _MEMBERS),
         *(json.dumps(kind).encode() for kind in VerdictKind), b'"check"', b'"verify"', b"true",
         b'"9/9"', b'"1/99999"', b"[[]]", b"{}", b"@x #1 <b> `|", b"\n")  # fmt: skip
TARGET = Target("results_reader", check, _seeds, WORDS, steps=400_000, examples=100)
