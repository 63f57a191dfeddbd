"""On a report page, long filters and searches run in a web worker if possible."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.truth import report
from tests.support.shipped_recordings import DIRECTORY

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page, Worker

    from tests.browser.watching import Visitor

_ASK = """async () => {
  const { state } = window.acpReport;
  await state.setFilter("text:hello or status:completed");
  const late = state.setFilter("text:exit"); // is overtaken by the next one
  await state.setFilter("id:1");
  await late;
  const ids = [...state.applied.rows];
  await state.setFilter("text:hello or status:completed");
  await state.setQuery("hello");
  return [[...state.applied.rows], ids, [...state.matched], state.error];
}"""
_NONE = "delete window.Worker"
_FAILS = """window.Worker = class {
  constructor() { setTimeout(() => this.onerror(new Event("error")), 5); }
  postMessage() {}
  terminate() {}
}"""


def _counted(page: Page) -> list[Worker]:
    """Returns a list that grows by each web worker that a page starts."""
    workers: list[Worker] = []
    page.on("worker", lambda worker: workers.append(worker))
    return workers


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Makes the report page of a short conversation."""
    return report(DIRECTORY / "tour.db", tmp_path_factory.mktemp("worker"))


def test_a_refused_worker_changes_no_answer(visit: Visitor, page: Path) -> None:
    """A search on a report page finds the same if the browser refuses to start a web worker."""
    answers: list[Any] = []
    for script in (None, _NONE, _FAILS):
        window = visit.window()
        workers = _counted(window.page)
        if script is not None:
            window.page.add_init_script(script)
        window.open(page)
        answers.append(window.ask(_ASK))
        assert bool(workers) == (script is None)
        window.assert_quiet()
    assert answers[0] == answers[1] == answers[2]
    assert all(answers[0][:3])
    assert answers[0][3] == ""
