"""Masking replaces private text so that nobody can read it, and rules can still check it."""

from __future__ import annotations

import json

from acp_proxy.protocol.jsonrpc import Stream
from acp_proxy.redaction.edits import apply
from acp_proxy.redaction.private_text import is_blanked, private_text
from acp_proxy.redaction.redactor import Redactor, RedactorState
from tests.support.cases import each_case

SECRET = "Wk2mXs81qPz0"


@each_case(
    ("path", "text", "shown"),
    [
        (("entries", "*", "priority"), "high", "high"),
        (("entries", "*", "priority"), "urgent", "xxxxxx"),
        (("entries", "*", "content"), "high", "xxxx"),
        (("annotations", "audience", "*"), "user", "user"),
        (("content", "*", "path"), "/home/me/a.py", "/xxxxxxxxxxxx"),
        (("content", "*", "path"), "c:\\me\\a.py", "c:\\xxxxxxx"),
        (("content", "*", "path"), "\\\\host\\a", "\\\\xxxxxx"),
        (("content", "*", "path"), "me/a.py", "xxxxxxx"),
        (("sessions", "*", "cwd"), "/srv/my app", "/xxxxxx xxx"),
        (("content", "*", "newText"), "/home", "xxxxx"),
    ],
)
def test_checked_parts_of_private_text_stay(path: tuple[str, ...], text: str, shown: str) -> None:
    """Masking of private text keeps the root of a path, as `/`, and fixed words, as `high`."""
    assert private_text(text, path) == shown
    assert private_text(shown, path) == shown


@each_case(
    ("text", "is_one"),
    [("xxx xx", True), ("/xxx", True), ("c:\\xx", True), ("xx==", True), ("", False), ("/", False),
     ("  ", False), ("/tmp/xx", False), ("fix", False)],
)  # fmt: skip
def test_blanked_text_is_recognized(text: str, is_one: bool) -> None:
    """`is_blanked` is true for masked texts such as `/xxx`, but false for `fix` and `/tmp/xx`."""
    assert is_blanked(text) is is_one


def test_a_path_with_a_secret_is_blanked_as_a_whole() -> None:
    """In a private recording, a path that contains a secret is masked as a whole."""
    redactor = Redactor(
        RedactorState("00" * 16, values={f"/{SECRET}": "[redacted:key:0]"}), private=True
    )
    for path, shown in ((f"/{SECRET}/a", "xxxxxxxxxxxxxxx"), ("/home/me/a", "/xxxxxxxxx")):
        update = {"sessionUpdate": "tool_call", "content": [{"type": "diff", "path": path}]}
        params = {"sessionId": "s", "update": update}
        line = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}).encode()
        masked = apply(line, redactor.line(Stream.TO_CLIENT, line))
        assert json.loads(masked)["params"]["update"]["content"][0]["path"] == shown
