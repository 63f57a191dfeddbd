"""The field of a page's filter completes words, shows chips, and gets terms from clicks."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.test_access import RUN_AXE, axe, show
from tests.browser.truth import report
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.watching import Visit

__all__ = ["axe"]

OFFERS = "#filter-offers [role=option] code"


@pytest.fixture
def page(window: Visit, tmp_path: Path) -> Visit:
    """Opens the report page of a recording that has entries of many kinds."""
    return window.open(report(DIRECTORY / "tour.db", tmp_path), "#view=list")


def wait(page: Visit, condition: str, *values: Any) -> None:
    """Waits until a condition on the report page's `state` holds."""
    script = f"(value) => {{ const {{ state }} = acpReport; return {condition}; }}"
    page.page.wait_for_function(script, arg=values[0] if values else None)


def applied(page: Visit, text: str) -> None:
    """Waits until a filter is applied."""
    wait(page, "state.filter === value && state.applied.text === value", text)


def test_a_filter_is_completed_by_keys(page: Visit, axe: str) -> None:
    """In the filter field of a report page, arrow keys and Enter complete a key and a value."""
    keyboard, field = page.page.keyboard, page.page.locator("#filter")
    page.page.evaluate(axe + ";() => 0")
    keyboard.press("/")
    keyboard.press("ArrowDown")
    keys = page.page.locator(OFFERS).all_text_contents()
    assert {"method:", "kind:", "session:", "call:", "is:", "status:", "dir:", "turn:"} <= {*keys}
    keyboard.type("me")
    assert page.page.locator(OFFERS).all_text_contents() == ["method:"]
    keyboard.press("ArrowDown")
    keyboard.press("Enter")
    values = page.page.locator(OFFERS).all_text_contents()
    assert values[0] == "method:session/update"
    assert len(values) <= 20
    keyboard.type("promp")
    assert page.page.locator(OFFERS).all_text_contents() == ["method:session/prompt"]
    keyboard.press("ArrowDown")
    assert field.get_attribute("aria-activedescendant") == "filter-offer-0"
    assert page.ask(RUN_AXE, True) == []
    keyboard.press("Enter")
    applied(page, "method:session/prompt")
    assert field.get_attribute("aria-expanded") == "false"
    keyboard.type(" ki")
    assert page.page.locator(OFFERS).all_text_contents() == ["kind:"]
    keyboard.press("Escape")
    assert page.page.locator("#filter-offers").is_hidden()
    assert page.ask("() => document.activeElement.id") == "filter"
    page.assert_quiet()


def test_a_word_that_may_become_a_key_is_not_applied_yet(page: Visit) -> None:
    """On a report page, a filter is applied when its last word can no longer become a key.

    Enter, Escape, or to leave the field ends the completion, and applies the word as a text.
    """
    keyboard = page.page.keyboard
    keyboard.press("/")
    keyboard.type("greet me")
    wait(page, "state.filter === 'greet me' && state.applied.text === 'greet '")
    keyboard.type("t")
    wait(page, "state.filter === 'greet met' && state.applied.text === 'greet '")
    keyboard.press("Enter")
    applied(page, "greet met")
    keyboard.type("hod:")
    wait(page, "state.filter === 'greet method:' && state.applied.text === 'greet met'")
    assert page.ask("() => acpReport.state.error") == ""
    keyboard.press("Tab")
    applied(page, "greet method:session/update")
    keyboard.press("Escape")
    page.page.locator("#filter").fill("te")
    wait(page, "state.filter === 'te' && state.applied.text === 'greet method:session/update'")
    page.page.locator("#search").focus()
    applied(page, "te")
    page.page.locator("#filter").fill("")
    applied(page, "")


def test_each_term_is_a_chip(page: Visit, axe: str) -> None:
    """Below the filter field of a report page, each term has a chip with a button to remove it.

    A part with `or` is one chip. A filter with only one term has no chip.
    """
    page.page.evaluate(axe + ";() => 0")
    chips = page.page.locator(".chips li")
    for text, expected in (
        ("turn:1 and kind:request", ["turn:1", "kind:request"]),
        ("(turn:1 or turn:2) kind:request", ["(turn:1 or turn:2) kind:request"]),
    ):
        page.page.fill("#filter", text)
        applied(page, text)
        assert chips.locator("code").all_text_contents() == expected
    assert page.ask(RUN_AXE, True) == []
    page.page.fill("#filter", "turn:1 kind:request")
    applied(page, "turn:1 kind:request")
    page.page.get_by_role("button", name="Remove turn:1").click()
    applied(page, "kind:request")
    assert page.page.locator(".chips").is_hidden()
    page.assert_quiet()


def test_an_alt_click_adds_a_term(page: Visit) -> None:
    """On a report page, a click with Alt on a method, an arrow or a kind adds a filter for it."""
    show(page, "list", 3)
    alt: Any = ["Alt"]
    before = page.ask("() => acpReport.state.row")
    page.page.locator(".list-verb", has_text="initialize").first.click(modifiers=alt)
    applied(page, "method:initialize")
    page.page.locator(".list-arrow", has_text="←").first.click(modifiers=alt)
    applied(page, "method:initialize dir:to-client")
    page.page.locator(".list-arrow", has_text="←").first.click(modifiers=alt)
    applied(page, "method:initialize dir:to-client")
    page.page.fill("#filter", "turn:1 or turn:2")
    applied(page, "turn:1 or turn:2")
    page.ask("(row) => acpReport.state.select(row)", before)
    page.page.locator(".detail-title .badge").click(modifiers=alt)
    kind = page.ask("() => acpReport.recording.text('kind', acpReport.state.row)")
    applied(page, f"(turn:1 or turn:2) kind:{kind}")
    page.page.fill("#filter", "")
    show(page, "conversation")
    page.page.locator(".entry-tool_call .entry-kind").first.click(modifiers=alt)
    wait(page, "/^call:/.test(state.applied.text) && state.shown.length > 0")
    page.assert_quiet()


def test_keys_step_through_messages_and_waits(page: Visit) -> None:
    """On a report page, the keys `.` and `,` select the next and the previous message.

    The keys `w` and `W` select the next and the previous wait.
    """
    page.ask("""() => {
      const { state, recording } = acpReport;
      recording.pauses.set(30, { before: 29, ns: 6e9, awaited: "the agent", debt: 1 });
      state.select(20);
    }""")
    for key, row in ((".", 21), (",", 20), ("w", 30), ("w", 30), (".", 31), ("W", 30)):
        page.page.keyboard.press(key)
        assert page.ask("() => acpReport.state.row") == row
    page.assert_quiet()


def test_a_message_becomes_a_plan_of_faults(page: Visit, axe: str) -> None:
    """On a report page, a fault plan can be made that drops, delays or changes the chosen message.

    Below the plan is the command that replays the recording with the plan.
    """
    show(page, "list")
    page.page.evaluate(axe + ";() => 0")
    page.page.get_by_text("Replay with a fault").click()
    plan = page.page.get_by_label("Plan of faults")
    for name, kind in (("drop it", "drop"), ("delay it", "latency"),
                       ("change it", "replace")):  # fmt: skip
        page.page.get_by_role("button", name=name).click()
        page.page.wait_for_function(
            f"(it) => it.value.includes('kind = \"{kind}\"')", arg=plan.element_handle()
        )
        rule = tomllib.loads(plan.input_value())["fault"][0]
        assert (rule["kind"], rule["times"]) == (kind, 1)
    assert page.page.locator(".fault-plan code").text_content() == (
        "acp-proxy replay tour --faults plan.toml"
    )
    assert page.ask(RUN_AXE, True) == []
    page.ask("() => acpReport.state.select(21)")
    plan.wait_for(state="hidden")
    page.assert_quiet()
