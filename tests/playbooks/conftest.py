"""What all playbooks share: a way to make recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.playbook import RecordedTranscript


@pytest.fixture
def record(tmp_path: Path) -> Iterator[Callable[..., RecordedTranscript]]:
    """Makes recordings of transcripts, which are closed when the test is over."""
    from tests import playbook

    transcripts = []

    def make(transcript: str, **start: Any) -> RecordedTranscript:
        transcripts.append(playbook.record(tmp_path, transcript, **start))
        return transcripts[-1]

    yield make
    for recorded in transcripts:
        recorded.close()
