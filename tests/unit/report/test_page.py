"""The head of a report page shows correct facts, and no recorded text becomes markup in it."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest
from attrs import evolve, fields, has

from acp_proxy.base.wording import byte_size, duration
from acp_proxy.check.check_values import Severity
from acp_proxy.explain.findings import Finding, counts_of
from acp_proxy.explain.observed_faults import FiredRule
from acp_proxy.explain.show.summary_values import CurrentWait, FailedCall
from acp_proxy.report.facts import HeadFacts, head_facts
from acp_proxy.report.page import assets, content_policy, report_parts, source_hash
from acp_proxy.report.report_model import ReportData, ReportOptions, read_report_data
from acp_proxy.store.reader import RecordingReader
from tests.support.command_line import run
from tests.support.report_page import Page
from tests.support.shipped_recordings import DIRECTORY, SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = [
    "</ScRiPt><script>alert(1)</script>",
    "<!--<script>",
    '"><img src=x onerror=alert(1)>',
    "' onload='alert(1)' x='",
    "</title></style><b>",
    "]]><![CDATA[<svg/onload=alert(1)>",
    "javascript:alert(1) https://evil.example/ //evil.example",
    "{{ 7 * 7 }}{% include 'x' %}{# #}",
    "&lt;b&gt;&#x3c;b&#x3e;&amp;",
    "a\u2028b\u2029c\x85d\x0be\r\nf\tg",
    "\ud800 lone \udfff",
    "\u202egnp.exe\u2066\u200b\ufeff",
    "\x1b]8;;https://evil.example\x07link\x1b]8;;\x07\x1b[31m\x00\x7f\x9b",
    "x" * 1_000_000,
    "é" * 5000,
]
"""Markup that a peer may put into any text that it sends."""
_OURS = {
    "started_at",
    "ended_at",
    "command",
    "severity",
    "severities",
    "direction",
    "stream",
    "options",
    "counts",
    "frames",
}
"""Members whose values decide how something is shown, and cannot be just any text."""
_LINK = re.compile(r"#((view=waterfall&)?(seq|turn)=\d+|problems)")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\u200b\ufeff]")


@cache
def data_of(path: Path) -> ReportData:
    """Returns the report data of a recording."""
    with RecordingReader(path) as reader:
        return read_report_data(reader, ReportOptions())


@cache
def everything() -> ReportData:
    """Returns the report data of a recording in which everything possible happened."""
    every = [data_of(path) for path in SHIPPED]
    tour = data_of(DIRECTORY / "tour.db")
    summaries = [data.summary for data in every]

    def joined(name: str) -> list[Any]:
        return [item for summary in summaries for item in getattr(summary, name)]

    summary = evolve(
        tour.summary,
        findings=joined("findings"),
        severities=counts_of(joined("findings")),
        finding_counts={finding.rule: 300 for finding in joined("findings")},
        unanswered=joined("unanswered"),
        questions=joined("questions"),
        error_codes=joined("error_codes"),
        failed_calls=[FailedCall(3, "s", "call", "a title", "failed", "why")],
        waiting=[CurrentWait(4, "agent", "s", 1, 10**9, "client waits for agent: x (#4)")],
        signals=["SIGTERM"],
        events=["SIGTERM was passed on to the agent"],
        faults={"a rule": 3, "another": 0},
        stderr_tail=["a line", "another"],
        frames={"to-agent": 3, "to-client": 4, "stderr": 9},
    )
    return evolve(
        tour,
        summary=summary,
        faults=[FiredRule("a rule", 9, ["kept 9 frames back (drop)"], [3, 4])],
        faulted_frames=9,
        undated_frames=2,
        statistics=evolve(
            tour.statistics, tool_calls=[c for d in every for c in d.statistics.tool_calls]
        ),
    )


def planted(value: Any, text: str) -> Any:
    """Returns a value in which all texts are replaced, including keys."""
    match value:
        case Severity():
            return value
        case str():
            return text
        case list() | tuple():
            return type(value)(planted(item, text) for item in value)
        case dict():
            return {planted(key, text): planted(item, text) for key, item in value.items()}
        case _ if has(type(value)):
            changed = {
                field.name: planted(getattr(value, field.name), text)
                for field in fields(type(value))
                if field.init and field.name not in _OURS
            }
            if hasattr(value, "command"):
                changed["command"] = json.dumps([text, "x"])
            return evolve(value, **changed)
    return value


def facts_of(data: ReportData) -> HeadFacts:
    """Returns the facts in the head of a report page, without a recording."""
    return head_facts(data, 3, "no secret was found")


def page_of(facts: HeadFacts) -> str:
    """Returns a report page without data."""
    return b"".join(report_parts(facts, [])).decode()


def shape(page: Page) -> list[tuple[str, dict[str, str | None]]]:
    """Returns the elements of a page, without links to frames and descriptions of pictures."""
    return [
        (tag, {name: value for name, value in attributes if name != "aria-label"})
        for tag, attributes in page.elements
        if tag != "a"
    ]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_of_a_recording_becomes_markup(text: str) -> None:
    """Recorded text cannot add elements to a report page."""
    html = page_of(facts_of(planted(everything(), text)))
    page, sound = Page(html), Page(page_of(facts_of(planted(everything(), "x"))))
    assert shape(page) == shape(sound)
    assert page.comments == []
    assert not _UNSEEN.search(html)
    assert (page.scripts, page.styles, page.inert) == (sound.scripts, sound.styles, sound.inert)
    for tag, attributes in page.elements:
        for name, value in attributes:
            assert not name.startswith("on")
            assert name != "style"
            assert name not in ("href", "src") or _LINK.fullmatch(value or ""), tag
    assert len(html) < 1_500_000


def test_nothing_is_allowed_but_the_two() -> None:
    """The content security policy of a report page allows only the page's own script and style."""
    script, style = "let a = 'ä';", "a { b: c }"
    actual = dict(
        part.split(" ", 1) for part in content_policy((script, script), [style]).split("; ")
    )
    assert source_hash(script) == f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
    assert actual == {
        "default-src": "'none'",
        "script-src": f"{source_hash(script)} {source_hash(script)}",
        "style-src": source_hash(style),
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "require-trusted-types-for": "'script'",
        "trusted-types": "acp-report-script",
    }


def test_the_policy_allows_what_the_page_has() -> None:
    """A report page begins with a content security policy that allows its own script and style."""
    page = Page(page_of(facts_of(everything())))
    (loader,), (style,) = page.scripts, page.styles
    script = zlib.decompress(b64decode(page.inert["script"])).decode()
    assert script == assets().script
    policy = page.policy()
    assert policy["script-src"] == f"{source_hash(loader)} {source_hash(script)}"
    assert policy["style-src"] == source_hash(style)
    assert policy["default-src"] == "'none'"
    assert [tag for tag, _ in page.elements[:4]] == ["html", "head", "meta", "meta"]
    assert page.elements[2][1] == (("charset", "utf-8"),)
    assert ("http-equiv", "Content-Security-Policy") in page.elements[3][1]


def test_the_assets_load_nothing() -> None:
    """The script of a report page loads nothing from elsewhere."""
    made = assets()
    assert not re.search(r"url\(\"?[^\"#]|@import|@font-face", made.style)
    for text in (made.loader, made.script, made.style):
        assert not re.search(r"</?(script|style)|<!--", text, re.IGNORECASE)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_head_has_the_numbers_of_the_commands(path: Path) -> None:
    """The head of a report page shows the same numbers as `show` and `stats`."""
    with RecordingReader(path) as reader:
        data = read_report_data(reader, ReportOptions())
        facts = head_facts(data, 1, "")
    page = Page(page_of(facts))
    show, stats = (
        json.loads(run("inspect", name, path, "--json").stdout) for name in ("show", "stats")
    )
    _compare_findings(page, show)
    _compare_turns(page, show, stats)
    waited = [duration(question["waited_ns"]) for question in show["questions"]]
    assert column(page, "permissions", "waited") == waited
    assert column(page, "permissions", "frame") == [
        f"#{question['seq']}" for question in show["questions"]
    ]
    assert column(page, "unanswered", "frame") == [
        f"#{question['seq']}" for question in show["unanswered"]
    ]
    begun = sorted(stats["tool_calls"], key=lambda call: call["start_ns"])
    calls = [(byte_size(call["bytes"]), f"{call['frames']:,}") for call in begun]
    sizes = column(page, "calls", "bytes"), column(page, "calls", "frames")
    assert [*zip(*sizes, strict=True)] == calls
    counts = ", ".join(f"{count:,} {stream}" for stream, count in show["frames"].items())
    assert page.terms["frames"] == [f"{sum(show['frames'].values()):,}: {counts}"]
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in show["kinds"].items())
    assert page.terms["kinds"] == [kinds]
    assert page.terms["bytes"] == [f"{stats['bytes']:,}"]
    for name in ("updates", "errors"):
        assert page.terms[name] == [f"{show[name]:,}"]


def column(page: Page, section: str, title: str) -> list[str]:
    """Returns the cells in a column of a table, or nothing if there is no table."""
    rows = page.tables.get(section, [])
    return [row[rows[0].index(title)] for row in rows[1:]]


def _compare_findings(page: Page, show: Any) -> None:
    """Asserts that a page lists all problems, or has the only problem as its verdict."""
    problems = show["problems"]
    if len(problems) == 1 and problems[0]["severity"] != "info":
        assert "".join(page.texts).count(problems[0]["rule"]) == 1
        problems = []
    for item, problem in zip(page.lists.get("findings", []), problems, strict=True):
        side = f"{problem['by']} " if problem["by"] else ""
        start = (
            f"{problem['severity']}: {side}#{problem['seq']} {problem['text']} {problem['rule']}"
        )
        assert start in item
        assert problem["unblamed"] is None or problem["unblamed"] in item


def _compare_turns(page: Page, show: Any, stats: Any) -> None:
    assert column(page, "turns", "turn") == [str(turn["id"]) for turn in show["turns"]]
    took = [duration(turn["duration_ns"]) for turn in stats["turns"]]
    assert column(page, "turns", "took") == took
    first = [duration(turn["first_chunk_ns"]) for turn in stats["turns"]]
    assert column(page, "turns", "first answer") == first
    assert column(page, "turns", "prompt") == [turn["prompt"] for turn in show["turns"]]
    for name in ("updates", "tool_calls"):
        shown = column(page, "turns", name.replace("_", " "))
        assert shown == [f"{turn[name]:,}" for turn in show["turns"]]


def test_every_frame_of_the_verdict_is_a_link() -> None:
    """Each frame number in the verdict of a report page links to its frame."""
    html = page_of(facts_of(data_of(DIRECTORY / "hang.db")))
    verdict = html[html.index('<p class="verdict') :].partition("</p>")[0]
    assert re.findall(r'href="#seq=(\d+)"', verdict) == ["6", "6", "9", "10", "11"]


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("# Fix **it**\\n\\n- run `make`\\r\\n> now", "Fix it run make now"),
        ("2 ** 3 ** 4 and a * b", "2 ** 3 ** 4 and a * b"),
        ("see C:\\new\\names", "see C:\\new\\names"),
    ],
)
def test_a_prompt_in_a_title_has_no_marks_of_markdown(prompt: str, title: str) -> None:
    """If a report page shows a prompt in a heading, it removes the prompt's Markdown."""
    data = data_of(DIRECTORY / "hang.db")
    turns = [evolve(turn, prompt=prompt) for turn in data.summary.turns]
    html = page_of(facts_of(evolve(data, summary=evolve(data.summary, turns=turns))))
    assert re.findall(r"“<bdi>(.*?)</bdi>”", html) == [title]
    assert " ".join(column(Page(html), "turns", "prompt")) == title


def test_the_head_has_one_total_of_findings() -> None:
    """The link to the problems on a report page counts the same findings as `show`."""
    data = data_of(DIRECTORY / "hang.db")
    note = Finding("ext.not-advertised", Severity.INFO, "agent", 2, "not announced")
    broken = [Finding("rpc.shape", Severity.ERROR, "agent", seq, "wrong") for seq in range(3, 33)]
    findings = [*broken, note]
    summary = evolve(
        data.summary,
        findings=findings,
        severities=counts_of(findings),
        finding_counts=Counter(finding.rule for finding in findings),
    )
    html = page_of(facts_of(evolve(data, summary=summary)))
    assert "</a> and 19 more." in html
    assert html.count("30 errors, 1 note<") == 2
    assert "more finding" not in html.partition('id="findings"')[0]


def test_a_call_without_its_permission_is_rejected_everywhere() -> None:
    """If permission is denied, a report page calls the tool call rejected."""
    html = page_of(facts_of(data_of(DIRECTORY / "edit-rejected.db")))
    assert "</code> (rejected)." in html
    assert "1 <bdi>rejected</bdi>" in html
    assert "<bdi>failed</bdi>" not in html
    assert '<li class="trouble">' not in html


def test_a_warning_about_a_rule_has_the_words_of_show() -> None:
    """If a warning is the worst finding, a report's verdict words it as `show` does."""
    path = DIRECTORY / "late-updates.db"
    assert "agent broke a rule #10" in run("inspect", "show", path).stdout
    verdict = page_of(facts_of(data_of(path))).partition('<p class="verdict')[2]
    assert "Warning: the agent broke a rule" in verdict
    assert "No error was found" not in verdict
