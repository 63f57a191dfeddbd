"""In `verify`, a live agent reads and writes files that exist on no disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.permission_playbook import END, asking, read, write

if TYPE_CHECKING:
    from tests.support.playbook import Record

WHOLE, SECOND, THIRD = r"1\n2\n3\n", r"2\n", r"3\n"


def content(text: str, token: str = "0") -> str:
    """Returns the answer of `verify` to a request for a file."""
    return f'{{"jsonrpc":"2.0","id":{token},"result":{{"content":"{text}"}}}}'


def test_a_file_may_be_read_again(record: Record) -> None:
    """If an agent requests a file again, `verify` sends the recorded content again."""
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
    assert live.mismatches == []
    assert live.informed == ["served in s"] * 4


def test_a_part_of_a_file_is_known_from_the_whole(record: Record) -> None:
    """If the recorded agent read a whole file, `verify` can answer a request for some lines."""
    live = asking(record, f'<- {read("/p/f")}\n-> #0 result {{"content": "1\\n2"}}')
    live.check(f"""
        <- {read("/p/f", line=2)}
        -> {content("2")}
        <- {END}
        -> end
    """)
    assert live.mismatches == []
    live = asking(record, f'<- {read("/p/f", limit=1)}\n-> #0 result {{"content": "1\\n"}}')
    live.check(f"""
        <- {read("/p/f")}
        -> refusal #0
        <- {END}
        -> end
    """)


def test_an_agent_can_read_what_it_has_written(record: Record) -> None:
    """If an agent has written a file, `verify` answers its later read with the written content."""
    live = asking(record, f"<- {write('/p/f', 'old')}\n-> #0 result null")
    live.check(f"""
        <- {write("/p/f", "new")}
        -> 7
        <- {read("/p/f", "1")}
        -> {content("new", "1")}
        <- {END}
        -> end
    """)
    assert live.mismatches == []


def test_a_refused_write_has_no_contents(record: Record) -> None:
    """If a write was refused, `verify` does not send the refused content to a later read."""
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


def test_a_part_does_not_give_the_whole_file(record: Record) -> None:
    """`verify` does not send some recorded lines of a file as the whole file."""
    live = asking(record, f'<- {read("/p/f", limit=1)}\n-> #0 result {{"content": "1\\n"}}')
    live.check(f"""
        <- {read("/p/f", limit=1)}
        -> 7
        <- {read("/p/f", "1")}
        -> refusal #1
        <- {END}
        -> end
    """)
    assert live.mismatches == ["unmatched primary in s"]


def test_the_first_recorded_contents_count(record: Record) -> None:
    """If a file was recorded with two contents, `verify` answers a partial read from the first."""
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
    assert (live.mismatches, live.informed) == ([], ["served in s"])
