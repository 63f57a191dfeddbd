"""Answers that were not recorded have the form that the request's dialect requires."""

from __future__ import annotations

import json
from typing import Any

import pytest

from acp_proxy.engine.client.composer import cancellation, denial, refusal
from acp_proxy.engine.shared.divergence import Divergence, DivergenceKind, NearMiss, Rank

V1 = {"params": {"toolCall": {}, "options": [{"optionId": "n", "kind": "reject_once"}]}}
ALLOWING = {"params": {"options": [{"optionId": "y", "kind": "allow_once"}]}}
DRAFT = {"params": {"operation": "read"}}
CANCELLED = {"outcome": {"outcome": "cancelled"}}


@pytest.mark.parametrize(
    ("request_", "result"),
    [
        (V1, {"outcome": {"outcome": "selected", "optionId": "n"}}),
        (ALLOWING, CANCELLED),
        (DRAFT, {"granted": False}),
        (None, CANCELLED),
    ],
)
def test_a_denial_grants_nothing(request_: Any, result: Any) -> None:
    """It selects the option that rejects, if there is one."""
    assert denial(request_) == result


@pytest.mark.parametrize(("request_", "result"), [(V1, CANCELLED), (DRAFT, {"granted": False})])
def test_a_cancelled_request_is_answered_in_its_dialect(request_: Any, result: Any) -> None:
    """The offered options do not matter."""
    assert cancellation(request_) == result


def test_a_refusal_explains_the_divergence() -> None:
    """It has the numbers of the most similar recorded requests."""
    miss = NearMiss(4, "m", (), is_played=False)
    found = Divergence(DivergenceKind.UNMATCHED, Rank.PRIMARY, "s", "why", near_misses=(miss,))
    error = json.loads(refusal("1", found).data)["error"]
    assert error["message"] == "verify: why"
    assert error["data"] == {"divergence": "unmatched", "recorded": [4], "lane": "s"}
