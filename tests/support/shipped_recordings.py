"""Lists the recordings in ``recordings/``: healthy ones, failures and rebuilt bug reports."""

from __future__ import annotations

from pathlib import Path

from tests.agents.make_recordings import RECORDINGS
from tests.agents.make_recordings import SICK as SICK_NAMES

DIRECTORY = Path(__file__).parents[2] / "recordings"
REPORTS = Path(__file__).parents[1] / "data" / "reports"
"""Rebuilt reports of bugs."""
SHIPPED = sorted(DIRECTORY.glob("*.db"))
HEALTHY = [path for path in SHIPPED if path.stem in RECORDINGS]
SICK = [path for path in SHIPPED if path.stem in SICK_NAMES]
