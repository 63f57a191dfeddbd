"""Files that a live agent reads and has written, of which none is on a disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.permission_playbook import END, asking, read, write

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.playbook import RecordedTranscript

WHOLE, SECOND, THIRD = r"1\n2\n3\n", r"2\n", r"3\n"


def content(text: str, token: str = "0") -> str:
    """The answer to a request for a file, as we write it."""
    return f'{{"jsonrpc":"2.0","id":{token},"result":{{"content":"{text}"}}}}'


def test_a_file_that_is_read_again_is_known(record: Callable[..., RecordedTranscript]) -> None:
    """Its content is the recorded one, or a part of it; that is information, and no divergence."""
    live = asking(record, f'<- {read("/p/f")}\n-> #0 result {{"content": "1\\n2\\n3\\n"}}')
    live.check(f"""
        <- {read("/p/f")}
        -> 7
        <- {read("/p/f", "1")}
        -> {content(WHOLE, "1")}
        <- {read("/p/f", "2", line=2, limit=1)}
        -> {content(SECOND, "2")}
        <- {read("/p/f", "3", line=3)}
        -> {content(THIRD, "3")}
        <- {read("/p/f", "4", limit=9)}
        -> {content(WHOLE, "4")}
        <- {END}
        -> end
    """)
    assert live.found == []
    assert live.informed == ["served in s"] * 4


def test_a_part_of_a_file_is_known_from_the_whole(
    record: Callable[..., RecordedTranscript],
) -> None:
    """Also if the whole has not been read yet; but no whole from a part."""
    live = asking(record, f'<- {read("/p/f")}\n-> #0 result {{"content": "1\\n2"}}')
    live.check(f"""
        <- {read("/p/f", line=2)}
        -> {content("2")}
        <- {END}
        -> end
    """)
    assert live.found == []
    live = asking(record, f'<- {read("/p/f", limit=1)}\n-> #0 result {{"content": "1\\n"}}')
    live.check(f"""
        <- {read("/p/f")}
        -> refusal #0
        <- {END}
        -> end
    """)


def test_what_the_agent_has_written_it_can_read(record: Callable[..., RecordedTranscript]) -> None:
    """What it wrote in this run, and not what it did in the recording."""
    live = asking(record, f"<- {write('/p/f', 'old')}\n-> #0 result null")
    live.check(f"""
        <- {write("/p/f", "new")}
        -> 7
        <- {read("/p/f", "1")}
        -> {content("new", "1")}
        <- {END}
        -> end
    """)
    assert live.found == []


def test_a_write_that_was_refused_leaves_nothing(record: Callable[..., RecordedTranscript]) -> None:
    """Neither one that the recorded client refused, nor one that was never asked for."""
    live = asking(record, f'<- {write("/p/f", "x")}\n-> #0 error {{"code": 1, "message": "no"}}')
    live.check(f"""
        <- {write("/p/f", "x")}
        -> 7
        <- {read("/p/f", "1")}
        -> refusal #1
        <- {write("/p/g", "x", "2")}
        -> refusal #2
        <- {read("/p/g", "3")}
        -> refusal #3
        <- {END}
        -> end
    """)


def test_a_part_that_was_read_is_no_whole(record: Callable[..., RecordedTranscript]) -> None:
    """Nobody has said what the rest is."""
    live = asking(record, f'<- {read("/p/f", limit=1)}\n-> #0 result {{"content": "1\\n"}}')
    live.check(f"""
        <- {read("/p/f", limit=1)}
        -> 7
        <- {read("/p/f", "1")}
        -> refusal #1
        <- {END}
        -> end
    """)
    assert live.found == ["unmatched primary in s"]


def test_a_file_is_what_it_was_at_first(record: Callable[..., RecordedTranscript]) -> None:
    """Where it was recorded twice, and the live agent has read neither."""
    live = asking(
        record,
        f"""
        <- {read("/p/f")}
        -> #0 result {{"content": "old"}}
        <- {read("/p/f", "1")}
        -> #1 result {{"content": "new"}}
        """,
    )
    live.check(f"""
        <- {read("/p/f", "7", limit=9)}
        -> {content("old", "7")}
        <- {END}
        -> end
    """)
    assert (live.found, live.informed) == ([], ["served in s"])
