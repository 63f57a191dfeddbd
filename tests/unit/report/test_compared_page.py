"""The page of a comparison shows the differences that `diff` finds, and counts omitted ones."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from attrs import evolve

from acp_proxy.diff.diff import diff
from acp_proxy.diff.diff_result import Change, Counts, DiffEntry, Field
from acp_proxy.report.compared_page import read_comparison
from acp_proxy.report.page import comparison_parts
from acp_proxy.store.reader import RecordingReader
from tests.support.comparison_page import made_up, page_of
from tests.support.example_comparison import ANSWER, EVIL, OTHER_ANSWER, differing, equal

ROOT = Path(__file__).parents[3]
PAIRS = ROOT / "tests" / "data" / "pairs"
COMPARED = [
    (ROOT / "recordings" / "edit-allowed.db", ROOT / "recordings" / "edit-rejected.db"),
    (ROOT / "recordings" / "hello.db", ROOT / "recordings" / "crash.db"),
    (ROOT / "recordings" / "tour.db", ROOT / "recordings" / "tour.db"),
    (PAIRS / "gemini-edit.a.jsonl", PAIRS / "vibe-edit.a.jsonl"),
]

_ELEMENTS = (
    "html head meta title style body div p strong code bdi header h1 h2 h3 span table thead tbody"
    " tr th td ul li a details summary nav button kbd main section article del ins br script"
)


@pytest.mark.parametrize("paths", COMPARED, ids=lambda paths: f"{paths[0].stem}-{paths[1].stem}")
def test_the_numbers_are_those_of_diff(paths: tuple[Path, Path]) -> None:
    """`report --against` counts the same differences as `diff`."""
    with ExitStack() as stack:
        a, b = (stack.enter_context(RecordingReader(path)) for path in paths)
        actual = diff(a, b)
        entries = [*actual.entries()]
        comparison = read_comparison(actual, (a, b))
    shown = [step for step in comparison.steps if not isinstance(step, int)]
    places = {
        (item.entry.change, item.entry.title, item.a and item.a.seq, item.b and item.b.seq): [
            place.pointer for place in item.places.items
        ]
        for item in shown
    }
    assert places == {
        (item.change, item.title, item.a, item.b): [place.pointer for place in item.fields]
        for item in entries
    }
    assert len(shown) == len(entries)
    seqs = [item.a.seq for item in shown if item.a is not None]
    assert seqs == sorted(seqs)
    kinds = Counter(item.entry.change for item in shown)
    assert actual.counts == Counts(
        handshake=len(comparison.handshake.items), only_a=kinds[Change.ONLY_A],
        only_b=kinds[Change.ONLY_B], changed=kinds[Change.CHANGED], moved=kinds[Change.MOVED],
        ending=len(comparison.ending),
    )  # fmt: skip
    page = page_of(comparison)
    numbers = [dict(attributes).get("id") for tag, attributes in page.elements if tag == "article"]
    assert numbers == [f"change-{n}" for n in range(1, actual.counts.total + 1)]
    assert comparison.verdict in page.text
    assert comparison.more == 0


def test_equal_messages_are_counted() -> None:
    """`report --against` counts the equal messages between two differences."""
    with ExitStack() as stack:
        a, b = (stack.enter_context(RecordingReader(path)) for path in COMPARED[0])
        comparison = read_comparison(diff(a, b), (a, b))
        same = read_comparison(diff(a, a), (a, a))
    lanes = comparison.lanes
    assert [step if isinstance(step, int) else step.sign for step in comparison.steps] == [
        8, "~", "−", "−", "~", "~", 1,
    ]  # fmt: skip
    assert comparison.steps[1].a.took_ns is not None  # type: ignore[union-attr]
    assert (comparison.first, comparison.first_frames) == (
        "permission allow → reject", "#12 / #12",
    )  # fmt: skip
    assert lanes[1].summary == "3 differences: 2 changed, 1 only in A"
    assert (lanes[1].equal, same.is_equal) == (6, True)
    assert [lane.equal for lane in same.lanes] == [1, 9, 4]
    text = page_of(same).text
    assert "16 frames and 16 frames say the same" in text
    assert "Where they differ" not in text


def test_messages_whose_order_does_not_count_are_apart() -> None:
    """`report --against` puts messages whose order does not matter into columns of their own."""
    with ExitStack() as stack:
        a, b = (stack.enter_context(RecordingReader(path)) for path in COMPARED[3])
        lanes = read_comparison(diff(a, b), (a, b)).lanes
    assert [lane.apart for lane in lanes if lane.apart] == [
        "available_commands_update", "usage_update", "session_info_update",
    ]  # fmt: skip
    keys = [(lane.lane, lane.direction, lane.apart) for lane in lanes]
    assert len(set(keys)) == len(keys)


def test_recordings_of_one_name_are_told_apart() -> None:
    """If two recordings have one name, `report --against` names them by their files."""

    def names(a: str, b: str) -> tuple[str, str]:
        actual = differing()
        side_a, side_b = (evolve(actual.a, name="n", path=path) for path in (a, b))
        return made_up(evolve(actual, a=side_a, b=side_b)).names

    assert made_up(differing()).names == ("monday", "friday")
    assert names("/home/me/a.db", "/home/me/b.db") == ("a.db", "b.db")
    assert names("/x/a.db", "/y/a.db") == ("/x/a.db", "/y/a.db")
    assert names("/x/a.db", "/x/a.db") == ("n", "n")


def test_a_text_is_cut_to_what_has_changed() -> None:
    """`report --against` cuts a changed text to the words around the change."""
    comparison = made_up(differing())
    page = "".join(part.decode(errors="replace") for part in comparison_parts(comparison))
    assert "41 passed, 1 failed" in ANSWER
    assert re.search(r"I ran the tests: <del>41</del>", page)
    assert re.search(r"I ran the tests: <ins>42</ins>", page)
    assert "next task" in OTHER_ANSWER
    assert len(comparison.lanes) > 3
    assert f"{57 * len(comparison.lanes)} equal messages" in page


def test_nothing_is_left_out_silently() -> None:
    """`report --against` says how many differences it leaves out."""
    many = [DiffEntry(Change.ONLY_A, f"session:{n // 3}", "to-client", f"m{n}", n + 1, None, 1)
            for n in range(9)]  # fmt: skip
    places = tuple(Field(f"/{n}", n, n + 1) for n in range(60))
    texts = " ".join(f"word{n} {'x ' * 50}" for n in range(30))
    long = Field("/long", "y" * 5000), Field("/texts", texts, texts.replace("word", "work"))
    where = Change.CHANGED, "session:9", "to-client", "m", 1, 1, 1, 1
    changed = DiffEntry(*where, (*long, *places))
    comparison = made_up(differing(many), most=4)
    assert comparison.more == 5
    assert [lane.is_cut for lane in comparison.lanes] == [False, True]
    long_texts = tuple(Field(f"/{n}", "y" * 900, "z" * 900) for n in range(50))
    wide = [DiffEntry(Change.CHANGED, "session:9", "to-client", "m", n, n, 1, 1, long_texts)
            for n in range(1, 100)]  # fmt: skip
    assert made_up(differing(wide)).more == 49
    page = page_of(comparison)
    assert "And 5 more differing messages, of which this file has nothing" in page.text
    assert [dict(attributes)["id"] for tag, attributes in page.elements if tag == "article"][
        -1
    ] == (f"change-{comparison.counts.total}")
    text = page_of(made_up(differing([changed]))).text
    assert "and 12 more places" in text
    assert "and 10 more excerpts" in text
    assert "… (4,002 more characters)" in text


def test_recorded_text_is_text() -> None:
    """Recorded text cannot add elements, scripts or styles to the page of `report --against`."""
    evil = f"{EVIL}</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    field = Field(f"/{evil}", evil, {evil: [evil]})
    entry = DiffEntry(Change.CHANGED, evil, "to-client", evil, 1, 1, 1, 1, (field,), evil)
    page = page_of(made_up(differing([entry]), words=evil, masked=evil))
    assert {tag for tag, _ in page.elements} <= set(_ELEMENTS.split())
    assert not any(name.startswith("on") or name == "src"
                   for _, attributes in page.elements for name, _ in attributes)  # fmt: skip
    assert page.comments == []
    assert page.text.count("<script>alert(1)</script>") >= 6
    assert not re.search("[\x1b\x9b\u202e]", page.text)
    (style,) = page.styles
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert page.scripts == []
    assert page.policy()["script-src"] == "'none'"
    assert page.policy()["style-src"] == f"'sha256-{digest}'"


def test_a_page_that_may_have_secrets_says_so() -> None:
    """The `report --against` page counts the masked secrets, or warns that none are masked."""
    shown = page_of(made_up(equal(), masked="2 secrets are masked", is_unmasked=True)).text
    assert "SECRETS ARE NOT MASKED" in shown
    masked = page_of(made_up(equal(), masked="2 secrets are masked", words="kind:error")).text
    assert "filter kind:error; 2 secrets are masked" in masked
    assert "SECRETS" not in masked


def test_the_style_is_small_and_loads_nothing() -> None:
    """The style of the `report --against` page is small, and loads nothing from elsewhere."""
    (style,) = page_of(made_up(equal())).styles
    assert 1_000 < len(style) < 15_000
    assert not re.search(r"url\(|@import|@font-face|</?(script|style)|<!--", style, re.IGNORECASE)
