"""A recorded choice becomes the same live option, or one of the same kind, and never more."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.engine.client.permission_guard import OptionChoice, choice

IMPOSSIBLE = OptionChoice(None, is_possible=False)


def asking(*options: str) -> dict[str, Any]:
    """A request that offers options, each ``id:kind:name``."""
    words = [(*one.split(":"), "") for one in options]
    found = [{"optionId": w[0], "kind": w[1], "name": w[2]} for w in words]
    return {"params": {"options": found}}


def selecting(option: str) -> dict[str, Any]:
    """An answer that selects an option."""
    return {"result": {"outcome": {"outcome": "selected", "optionId": option}}}


@pytest.mark.parametrize(
    ("recorded", "live", "expected"),
    [
        ("y:allow_once:Yes", ["n:reject_once:No", "y:allow_once:Yes"], OptionChoice("y")),
        ("y:allow_once:Yes", ["a:allow_once:Ok", "b:allow_once:Yes"], OptionChoice("b")),
        ("y:allow_once:Yes", ["a:allow_once:Ok"], OptionChoice("a")),
        ("y:allow_once:Yes", ["y:allow_always:Yes"], IMPOSSIBLE),
        ("y:allow_once:Yes", ["y:allow_once:Yes", "y:allow_always:Yes"], IMPOSSIBLE),
        ("y:allow_once:Yes", [], IMPOSSIBLE),
        ("y:allow_always:All", ["a:allow_always:Other"], IMPOSSIBLE),
        ("y:allow_always:All", ["a:allow_always:All"], OptionChoice("a")),
        ("y:allow_always:All", ["y:allow_always:Other"], OptionChoice("y")),
        ("n:reject_always:No", ["a:reject_always:Other"], OptionChoice("a")),
    ],
)
def test_an_option_is_of_the_recorded_kind(
    recorded: str, live: list[str], expected: OptionChoice
) -> None:
    """An option that allows more than one call also has the same id or name."""
    assert choice(asking(recorded), asking(*live), selecting("y" if "y:" in recorded else "n")) == (
        expected
    )


def test_an_option_that_was_not_offered_cannot_be_mapped() -> None:
    """The answer is sent unchanged, unless the id is offered now."""
    live = asking("y:allow_once:Yes")
    assert choice(asking(), live, selecting("other")) == OptionChoice(None)
    assert choice(asking(), live, selecting("y")) == IMPOSSIBLE


@pytest.mark.parametrize(
    "answer", [None, {}, {"error": {}}, {"result": {"outcome": {"outcome": "cancelled"}}}]
)
def test_another_answer_selects_nothing(answer: Any) -> None:
    """It is sent unchanged."""
    assert choice(asking("y:allow_once"), asking("y:allow_once"), answer) == OptionChoice(None)
