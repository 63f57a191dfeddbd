"""In a recording's note, a line that begins with a frame number is about that frame."""

from __future__ import annotations

import pytest

from acp_proxy.recording.notes import changed_note, note_in_words, read_notes


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        (None, {0: ""}),
        ("it hangs\nhere", {0: "it hangs\nhere"}),
        ("#42 why?", {42: "why?"}),
        ("#42", {42: ""}),
        ("it hangs\n#42 why?\nand\n#7\tso", {0: "it hangs", 42: "why?\nand", 7: "so"}),
        ("#0 no row\n#x\n#7th\n#-1\n#07 x", {0: "#0 no row\n#x\n#7th\n#-1\n#07 x"}),
        (f"#{'9' * 16} x", {0: f"#{'9' * 16} x"}),
    ],
)  # fmt: skip
def test_a_line_with_a_number_begins_a_note(text: str | None, notes: dict[int, str]) -> None:
    """In the text of a note, a line that begins with `#42` starts a note on frame 42."""
    assert read_notes(text) == notes


def test_a_new_note_replaces_the_note_at_its_row() -> None:
    """If a frame already has a note, a new note on the frame replaces the old one."""
    note = changed_note("it hangs", "#42 why?")
    assert note == "it hangs\n#42 why?"
    note = changed_note(note, "#7 who\nasked")
    assert note == "it hangs\n#7 who\nasked\n#42 why?"
    note = changed_note(note, "it hung\n#42 so")
    assert note == "it hung\n#7 who\nasked\n#42 so"
    note = changed_note(note, "#7")
    assert note == "it hung\n#42 so"
    assert changed_note("#42 so", "#42 ") is None
    assert changed_note(note, None) is None


def test_rows_with_notes_are_counted() -> None:
    """`list` and `show` print how many frames have notes, and the numbers of these frames."""
    assert note_in_words(None) == ""
    assert note_in_words("it hangs") == "it hangs"
    assert note_in_words("#42 so") == "1 note at #42"
    assert note_in_words("it hangs\n#7 x\n#42 y") == "it hangs; 2 notes at #7, #42"
