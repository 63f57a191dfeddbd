"""The head of a report page needs no script, and says the same as `show`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from acp_proxy.base.wording import plain
from tests.browser.census import assert_harmless
from tests.browser.hostile import TAGS
from tests.browser.truth import report, said
from tests.browser.watching import NARROW, WIDE
from tests.support.shipped_recordings import DIRECTORY, SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.watching import Visit

READ = """() => {
  const text = (element) => element.textContent.replace(/\\s+/g, " ").trim();
  const all = (where) => [...document.querySelectorAll(where)];
  const cells = (row) => [...row.cells].map(text);
  return {
    title: text(document.querySelector("h1 bdi")),
    verdict: text(document.querySelector(".verdict")),
    others: all(".others > li").map(text),
    findings: all("#findings .findings > li").map(text),
    turns: all("#turns tbody tr").map(cells),
    questions: all("#permissions tbody tr").map(cells),
    unanswered: all("#unanswered tbody tr").map(cells),
    failed: all("#calls .findings > li").map(text),
    counts: Object.fromEntries(all("#about dl > div").map((row) => [...row.children].map(text))),
    links: all("#head a, #foot a").map((link) => [text(link), link.getAttribute("href")]),
    text: all("#head, #foot").map(text).join(" "),
  };
}"""


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_the_head_says_what_show_says(plain_window: Visit, path: Path, tmp_path: Path) -> None:
    """The head of a report page has the same findings, turns and counts as `show`."""
    page = plain_window.open(report(path, tmp_path), ready=None)
    head, (summary,) = page.ask(READ), said("show", path)
    assert head["title"] == summary["recording"]["name"]
    problems = summary["problems"]
    named = [problem for problem in problems[:1] if problem["severity"] != "info"]
    assert_each_has([head["verdict"]][: len(named)], [problem["text"] for problem in named])
    serious = [problem for problem in problems[1:] if problem["severity"] != "info"]
    apart = dict.fromkeys(problem["text"] for problem in serious)  # equal ones are one row
    assert_each_has(head["others"], [*apart][:3])
    listed = problems if len(problems) > len(named) else []
    assert_each_has(head["findings"], [problem["text"] for problem in listed])
    assert [row[0] for row in head["turns"]] == [str(turn["id"]) for turn in summary["turns"]]
    for row, turn in zip(head["turns"], summary["turns"], strict=True):
        ends = [seq for seq in (turn["prompt_seq"], turn["end_seq"]) if seq is not None]
        assert row[1] == "–".join(f"#{seq}" for seq in ends)
        assert row[-3:] == [str(turn["updates"]), str(turn["tool_calls"]), turn["prompt"]]
    assert len(head["questions"]) == len(summary["questions"])
    assert [row[0] for row in head["unanswered"]] == [
        f"#{problem['seq']}" for problem in summary["unanswered"]
    ]
    assert len(head["failed"]) == len(summary["failed_calls"])
    frames = sum(summary["frames"].values())
    assert head["counts"]["frames"].startswith(f"{frames}: ")
    assert head["counts"]["updates"] == str(summary["updates"])
    assert head["counts"]["errors"] == str(summary["errors"])
    assert head["links"]
    for text, address in head["links"]:
        if address == "#problems":
            assert re.fullmatch("[0-9,]+ (error|warning|note)s?(, [0-9,]+ (warning|note)s?)*", text)
        elif text.isdigit():
            assert address == f"#view=waterfall&turn={text}"
        else:
            assert re.fullmatch("#[0-9]+", text), text
            assert address == f"#seq={text[1:]}"
    assert "{{" not in head["text"]
    page.assert_quiet()


def assert_each_has(rows: list[str], texts: list[str]) -> None:
    """Asserts that there are as many rows as texts, and that some row has each text."""
    assert len(rows) == len(texts)
    for text in texts:
        assert any(" ".join(text.split()) in row for row in rows), text


def test_html_in_a_recording_is_text_in_the_head(plain_window: Visit, hostile_report: Path) -> None:
    """If a recording contains HTML or scripts, the head of its report page shows them as text."""
    page = plain_window.open(hostile_report, ready=None)
    scripts = hostile_report.read_bytes().count(b"<script")
    assert_harmless(page, scripts)
    text = page.ask(READ)["text"]
    for name, payload in TAGS.items():
        assert " ".join(plain(payload).split()) in text, name
    assert page.page.title().startswith("</script><script>alert(1)")
    for size in (NARROW, WIDE):
        page.page.set_viewport_size(size)
        assert page.ask("() => document.documentElement.scrollWidth <= innerWidth"), size
    page.assert_quiet()


def test_a_link_to_the_problems_opens_them(window: Visit, tmp_path: Path) -> None:
    """In the head of a report page, the link with the number of findings opens their list."""
    page = window.open(report(DIRECTORY / "tour.db", tmp_path)).page
    link = page.locator("#head a[href='#problems']")
    link.click()
    page.locator("#findings[open]").wait_for()
    page.locator("#problems").click()
    link.click()
    page.locator("#findings[open]").wait_for()


def test_no_green_verdict_is_above_a_failed_call(plain_window: Visit, tmp_path: Path) -> None:
    """If a tool call failed, the verdict at the top of a report page is not green."""
    page = plain_window.open(report(DIRECTORY / "terminal.db", tmp_path), ready=None).page
    assert page.locator(".verdict").get_attribute("class") == "verdict neutral"


def test_nothing_is_green_below_a_warning(plain_window: Visit, tmp_path: Path) -> None:
    """If a recording has a warning, the head of its report page shows no number in green."""
    path = report(DIRECTORY / "late-updates.db", tmp_path)
    page = plain_window.open(path, ready=None).page
    assert page.locator(".verdict.caution").count() == 1
    assert page.locator(".known .good").count() == 0
