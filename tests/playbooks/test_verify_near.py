"""What is told of recorded requests that are almost the live one, where directories have moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.permission_playbook import END, START, STARTED, read
from tests.verify_playbook import verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.playbook import RecordedTranscript


@pytest.mark.parametrize(
    ("was", "now", "transcript", "came"),
    [
        ("/p", "/p/sub", "/p/a", "/p/sub/b"),
        ("/p", "/q", "/p/a", "/q/b"),
        (".", "/q", "./a", "/q/b"),
        ("/", "/q", "/a", "/q/b"),
    ],
)
def test_a_directory_is_moved_once(
    record: Callable[..., RecordedTranscript], was: str, now: str, transcript: str, came: str
) -> None:
    """Also into one below it; both paths are told as they are now."""
    start = START.replace('"/p"', f'"{was}"')
    recorded = record(f'{start}\n<- {read(transcript)}\n-> #0 result {{"content": "A"}}\n<- {END}')
    live = verify(recorded, roots={was: now})
    live.check(STARTED.replace("-> 3", f'-> #1 session/new {{"cwd": "{now}"}}'))
    live.check(f"<- {read(came)}\n-> refusal #0")
    ((miss,),) = [one.near_misses for one in live.divergences]
    (difference,) = miss.differences
    assert (difference.recorded, difference.live) == (f'"{now}/a"', f'"{came}"')
