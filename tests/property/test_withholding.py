"""A replay's fast check of whether to withhold a line agrees with its check of parsed messages."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from acp_proxy.playback.replay.withholding import WithheldEffects, Withholding
from acp_proxy.playback.shared.bindings import Bindings
from acp_proxy.protocol.typed_places import Place
from acp_proxy.recording.steps import Script, Wire

PIECES = [
    '{"jsonrpc":"2.0"',
    ',"id":1',
    ',"method":',
    ',"Method":',
    ',"m\\u0065thod":',
    '"session/update"',
    '"terminal/create"',
    '"terminal\\/create"',
    '"t\\u0065rminal/create"',
    '"Terminal/create"',
    '"fs/write_text_file"',
    '"\\u0066s/write_text_file"',
    '"fs\\u002Fwrite_text_file"',
    '"_x/fs/y"',
    ',"params":{"path":"/p/a"}',
    ',"params":{"path":"/etc/a"}',
    ',"params":{"cwd":"/etc"}',
    ',"params":{"text":"\\n \\" é"}',
    ',"result":{}',
    "}",
    "[",
    ",",
    "]",
    "é",
    "\\",
    "x",
]


def withholding(*, parses: bool) -> Withholding:
    """Returns the check for a client in ``/p``; with ``parses``, it parses every line."""
    bindings, effects = Bindings(), WithheldEffects(cast("Script", None))
    bindings.bind(Place.ROOT, "/p", "/p")
    if parses:
        effects.note_unmade("terminal/create", {"result": {"terminalId": "t"}})
    return Withholding(bindings, effects)


@pytest.mark.parametrize("wrap", ["{}", "[{}]", "[{},{}]"])
@given(parts=st.lists(st.sampled_from(PIECES), max_size=12))
@example(parts=['{"jsonrpc":"2.0"', ',"method":', '"terminal/create"', "}"])
@example(parts=['{"jsonrpc":"2.0"', ',"method":', '"session/update"', "}"])
def test_any_line_is_withheld_as_if_parsed(wrap: str, parts: list[str]) -> None:
    """The quick check of a replay withholds the same lines as the check of the parsed message."""
    text = "".join(parts)
    line = wrap.format(*[text] * wrap.count("{}")).encode()
    wire = Wire(line, "\n", 0, "notification", None)
    quick, slow = (withholding(parses=parses).look(1, wire, line) for parses in (False, True))
    assert quick == slow
