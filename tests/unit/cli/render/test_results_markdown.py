"""A report for a pull request says what happened, is short enough, and holds text as text."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from acp_proxy.batches.merged import MergedResults, ResultsMerger
from acp_proxy.batches.results import JobVerdict, ResultsHeader, VerdictKind
from acp_proxy.cli.render.results_markdown import LONGEST, MARKER, markdown
from tests.verdicts import FINDING, header, verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
OURS = re.compile(r"</?(?:details|summary|code)>|<!-- acp-proxy -->\n?")
"""The only HTML that we write."""
MARKUP = re.compile("link|image|em|strong|s_|code_|bullet|ordered|list|blockquote|hr|hardbreak")
LINKED = re.compile(r"@\w|#\d|https?:|www\.|GH-\d|\b[0-9a-f]{40}\b", re.IGNORECASE)
"""What GitHub makes a link or a mention of, outside of code."""
HOSTILE = [
    "</details></summary><!-- acp-proxy --><img src=x onerror=alert(1)>",
    "```\n````text\n~~~\n</details>\n\n# title\n",
    "| a | b |\n|---|---|\n",
    "@octocat #12 GH-7 octo/repo#9 https://evil.example www.evil.example",
    "[x](javascript:alert(1)) ![x](http://evil.example/p.png) <https://evil.example>",
    "**bold** _it_ ~~no~~ `code` \\` &amp; &#64;you :tada: $x$",
    "\x1b[2J\u202e\u2028\r\n\ud800\x00",
    "- [ ] list\n> quote\n---\n1. one\n",
    "0123456789abcdef0123456789abcdef01234567",
    "",
]
TEXT = st.sampled_from(HOSTILE) | st.text("`~<>@#&|\\[]()!*_\n$:a1", max_size=20)


class Reader(HTMLParser):
    """Collects the tags of a page, and its text outside of code."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.prose = ""

    def handle_starttag(self, tag: str, _attrs: object) -> None:
        """Remembers a tag that opens."""
        self.tags.add(tag)
        if tag not in ("hr", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Makes sure that it closes the last one."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Keeps what is no code."""
        if not {"code", "pre"} & {*self.open}:
            self.prose += data


def merged(verdicts: Sequence[JobVerdict], first: ResultsHeader | None = None) -> MergedResults:
    """Merges a file."""
    merger = ResultsMerger()
    merger.begin("x.jsonl", first or header(None, len(verdicts)))
    for one in verdicts:
        merger.add(one)
    return merger.merged()


def check(text: str) -> Reader:
    """Checks that a report is valid and holds nothing but what we write; returns its page."""
    assert text.startswith(f"{MARKER}\n### ")
    assert len(text.encode()) <= LONGEST
    tokens = PARSER.parse(text)
    inner = [child for token in tokens for child in token.children or ()]
    html = [token.content for token in (*tokens, *inner) if token.type.startswith("html_")]
    assert [one.strip() for one in html].count(MARKER) == 1
    for one in html:
        assert "<" not in OURS.sub("", one), one
    kinds = {token.type for token in (*tokens, *inner)}
    assert not [kind for kind in kinds if MARKUP.match(kind)]
    assert sum(token.type == "heading_open" for token in tokens) == 1
    for token in tokens:
        if token.type == "fence":
            assert token.info == "text"
            assert token.content.replace("\n", "").replace("\t", "").isprintable()
    reader = Reader()
    reader.feed(PARSER.render(text))
    reader.close()
    assert reader.open == []
    assert not LINKED.search(reader.prose), LINKED.search(reader.prose)
    assert {*reader.tags} <= {"h3", "table", "thead", "tbody", "tr", "th", "td", "p", "details",
                              "summary", "code", "pre"}  # fmt: skip
    return reader


@settings(max_examples=20)
@given(name=TEXT, text=TEXT, other=TEXT)
def test_hostile_text_stays_text(name: str, text: str, other: str) -> None:
    """Names, divergences, errors, and the command, whatever they hold."""
    verdicts = [
        verdict(f"{name}-1", VerdictKind.DIFFERS, text, new_recording=other),
        verdict(f"{name}-2", VerdictKind.STALLED, error=other, attempt=3),
        verdict(f"{name}-3", VerdictKind.DIFFERS, text),
        verdict(f"{name}-4"),
    ]
    first = header(None, 9, words=(text, other), version=name, versions=(text,))
    check(markdown(merged([*verdicts, verdict(f"{name}-4", VerdictKind.LOST, error=text)], first)))
    finding = FINDING | {"rule": name, "text": text, "method": other, "by": other}
    bad = verdict(
        name, VerdictKind.FINDINGS, command="check", findings=(finding, FINDING), broken=9
    )
    check(markdown(merged([bad], header(None, 1, command="check"))))
    run = {"plan": text, "outcome": "hung", "exit_code": None}
    bad = verdict(name, VerdictKind.FAILED, command="faults sweep", findings=(run,))
    check(markdown(merged([bad], header(None, 1, command="faults sweep"))))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_divergence_is_shown_whole(text: str) -> None:
    """In a fence, line by line, with control characters as escapes."""
    page = markdown(merged([verdict("a.db", VerdictKind.DIFFERS, f"first\n{text}")]))
    check(page)
    (fence,) = [token for token in PARSER.parse(page) if token.type == "fence"]
    assert fence.content.startswith("first\n")
    if text.isprintable():
        assert fence.content == f"first\n{text}\n" if text else "first\n"


def test_what_happened_comes_first() -> None:
    """Counts, what is missing, and one section for recordings that differ alike."""
    verdicts = [
        verdict(f"chats/{n}.db", VerdictKind.DIFFERS, "end_turn → max_tokens") for n in range(30)
    ]
    verdicts += [
        verdict("slow.db", VerdictKind.STALLED, error="nothing came", attempt=3),
        verdict("ok.db"),
    ]
    assert markdown(merged(verdicts, header("1/2", 33, total=50))).splitlines()[:17] == [
        "<!-- acp-proxy -->",
        "### ✗ acp-proxy verify: 31 of 32 recordings are not clean, 18 are missing",
        "",
        "| verdict | recordings |",
        "|---|---:|",
        "| ✓ clean | 1 |",
        "| ✗ differs | 30 |",
        "| ! stalled | 1 |",
        "| ! missing | 18 |",
        "",
        "shard 1/2 stopped after 32 of 33 recordings",
        "",
        "shard 2/2 is not among the files",
        "",
        "<details><summary>✗ <code>chats/0.db</code> and 29 more: differs</summary>",
        "",
        "```text",
    ]


def test_findings_are_grouped_by_rule() -> None:
    """With the frame of each; the worst first."""
    warning = FINDING | {"rule": "tool.id-reused", "severity": "warning"}
    verdicts = [
        verdict(
            f"{n}.db", VerdictKind.FINDINGS, command="check", findings=(FINDING, warning), broken=2
        )
        for n in range(25)
    ]
    page = markdown(merged(verdicts, header(None, 25, command="check")))
    check(page)
    titles = re.findall("<summary>(.*)</summary>", page)
    assert titles == [
        "✗ <code>rpc.unanswered</code> by the agent: 25 findings in 25 recordings",
        "! <code>tool.id-reused</code> by the agent: 25 findings in 25 recordings",
    ]
    row = (
        "| <code>0.db</code> | <code>&#35;6</code> | <code>session/prompt</code> <code>the agent"
        " ended before it answered session/prompt</code> |"
    )
    assert row in page.splitlines()
    assert page.count("And 5 more.") == 2


@pytest.mark.parametrize("text", ["x" * 300, "@" * 300, "```\n" * 100])
def test_a_long_report_is_cut(text: str) -> None:
    """To what GitHub takes; what was left out is counted."""
    verdicts = [verdict(f"{n:03}", VerdictKind.DIFFERS, f"{n} {text}") for n in range(400)]
    page = markdown(merged(verdicts))
    check(page)
    (left,) = re.findall(r"^(\d+) more sections are left out", page, re.MULTILINE)
    assert int(left) + page.count("<details>") == 400
    assert page.count("<details>") > 60


def test_a_clean_report_is_short() -> None:
    """It says so in its title."""
    page = markdown(merged([verdict("a"), verdict("b")]))
    assert check(page).prose.split()[:6] == ["✓", "acp-proxy", "verify:", "2", "recordings,", "all"]
    assert "<details>" not in page
