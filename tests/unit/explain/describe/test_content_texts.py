"""The preview of a diff names the files, and counts the added and removed lines."""

from __future__ import annotations

from typing import Any

import pytest

from acp_proxy.explain.describe.content_texts import changed_lines, diff, patch_lines
from tests.support.cases import each_case

PATCH = """\
diff --git a/query.sql b/query.sql
--- a/query.sql
+++ b/query.sql
@@ -1,3 +1,4 @@
 SELECT 1
--- an old comment
+-- a new comment
++ 1
 FROM x
@@ -9 +10 @@ a heading
-a
+b
\\ No newline at end of file
--- a/other.sql
+++ /dev/null
@@ -1,2 +0,0 @@
-a
-b
"""


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("a\nb\n", "a\nc\nd\n", (2, 1)),
        ("", "a\nb", (2, 0)),
        ("a\nb", "", (0, 2)),
        ("a\na\n", "a\n", (0, 1)),
        ("a\nb\n", "b\na\n", (0, 0)),
    ],
)
def test_added_and_removed_lines_are_counted(old: str, new: str, changed: tuple[int, int]) -> None:
    """In the preview of a diff, `log` counts added and removed lines, but no moved line."""
    assert changed_lines(old, new) == changed


def test_the_lines_of_a_patch_are_counted() -> None:
    """In the preview of a patch, `log` counts changed lines, but not those with file names."""
    assert patch_lines(PATCH) == (3, 4)
    assert patch_lines("-a\n+b\n c") == (1, 1)
    assert patch_lines("") == (0, 0)


@each_case(
    ("block", "shown"),
    [
        ({"path": "/a", "oldText": "a", "newText": "b"}, "/a +1 −1"),
        ({"path": "/a", "oldText": "a", "newText": "a"}, "/a unchanged"),
        ({"path": "/a", "oldText": None, "newText": "a\nb\n"}, "new /a +2"),
        ({"path": "/a", "newText": "a"}, "new /a +1"),
        ({"path": "/a"}, "new /a"),
        ({"path": "/a", "oldText": "a", "newText": None}, "/a −1"),
        ({"changes": [{"operation": "modify", "path": "/a"}], "patch": None}, "/a"),
        ({"changes": [{"operation": "add", "path": "/a"}]}, "new /a"),
        ({"changes": [{"operation": "delete", "path": "/a"}]}, "deleted /a"),
        ({"changes": [{"operation": "move", "oldPath": "/a", "path": "/b"}]}, "moved /a → /b"),
        ({"changes": [{"operation": "_touch", "path": "/a"}]}, "_touch /a"),
        (
            {"changes": [{"operation": "add", "path": "/a", "fileType": "binary"}]},
            "new /a (binary)",
        ),
        ({"changes": [{"path": f"/{n}"} for n in "abcdef"]}, "/a, /b, /c, /d, +2 more"),
        ({"changes": [{"path": "/a"}], "patch": {"text": PATCH}}, "/a +3 −4"),
        ({"path": "/a", "hunks": [{"content": "@@ -1 +1,2 @@\n-a\n+b\n+c"}]}, "/a +2 −1"),
        ({"path": "/a", "hunks": [{"oldLines": 8, "newLines": 18}]}, "/a 8 → 18 lines"),
        ({"path": "/a", "hunks": []}, "/a"),
    ],
)
def test_a_diff_is_described(block: dict[str, Any], shown: str) -> None:
    """In the preview of a diff, `log` names the file that is created, deleted, moved or changed."""
    assert diff(block) == shown
