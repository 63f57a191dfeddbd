"""The answers that a replay makes up are valid JSON-RPC, with the client's id as written."""

from __future__ import annotations

import json

from acp_proxy.playback.replay.divergence_handler import (
    cancelled_answer,
    cancelled_request,
    cancelled_update,
    received,
    refusal,
)
from acp_proxy.playback.shared.comparison import Difference
from acp_proxy.playback.shared.divergence import Divergence, DivergenceKind, NearMiss, Rank

MISS = NearMiss(7, "session/prompt", (Difference("/params/a", "1", "\ud83d"),), False)
DIVERGENCE = Divergence(
    DivergenceKind.PARAMS_DIFFER, Rank.PRIMARY, "s", "another one", seq=7, near_misses=(MISS,)
)


def test_a_refusal_names_the_nearest_recorded_message() -> None:
    """If a replay refuses a request, the error names the most similar recorded message."""
    error = json.loads(refusal('"a"', DIVERGENCE).data)
    assert (error["id"], error["error"]["code"]) == ("a", -31999)
    assert error["error"]["message"] == "replay: another one"
    assert error["error"]["data"] == {
        "divergence": "params-differ",
        "recorded": 7,
        "lane": "s",
        "differences": [{"pointer": "/params/a", "recorded": "1", "live": "\ud83d"}],
    }


def test_ids_stay_as_they_were_written() -> None:
    """If a replay refuses a request, the error has the request's id exactly as it was written."""
    assert refusal("1.0", DIVERGENCE).data.startswith(b'{"jsonrpc":"2.0","id":1.0,')
    assert refusal(None, DIVERGENCE).data.startswith(b'{"jsonrpc":"2.0","id":null,')
    assert received("7").data == b'{"jsonrpc":"2.0","id":7,"result":{"received":true}}\n'


def test_a_cancelled_turn_ends_as_its_dialect_demands() -> None:
    """A replay ends a cancelled turn with the answer in v1, and with a session update in v2."""
    assert json.loads(cancelled_answer("1", is_v2=False).data)["result"] == {
        "stopReason": "cancelled"
    }
    assert json.loads(cancelled_answer("1", is_v2=True).data)["result"] == {}
    update = json.loads(cancelled_update("s").data)
    assert (update["method"], update["params"]["sessionId"]) == ("session/update", "s")
    assert update["params"]["update"]["stopReason"] == "cancelled"


def test_a_cancelled_request_gets_the_error_code_of_cancellations() -> None:
    """A replay answers a cancelled request with the error code -32800."""
    assert json.loads(cancelled_request("1", DIVERGENCE).data)["error"]["code"] == -32800
