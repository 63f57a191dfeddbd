"""Writes tests/data/reports: every conversation, and the list of what is wrong with each."""

from __future__ import annotations

import json
from pathlib import Path

from tests.reports import agent_turns, agent_values, clients, healthy
from tests.reports.register import REPORTS

DATA = Path(__file__).parents[1] / "data" / "reports"
MODULES = (agent_turns, agent_values, clients, healthy)


def built() -> dict[str, str]:
    """The text of every file by its name."""
    texts: dict[str, str] = {}
    entries = []
    for report in REPORTS:
        text, entry = report.build()
        texts[entry["file"]] = text
        entries.append(entry)
    texts["reports.json"] = json.dumps(entries, ensure_ascii=False, indent=1) + "\n"
    return texts


if __name__ == "__main__":
    DATA.mkdir(parents=True, exist_ok=True)
    for path in DATA.glob("*.jsonl"):
        path.unlink()
    for name, text in built().items():
        (DATA / name).write_text(text, encoding="utf-8")
