"""The recordings in ``recordings/``: healthy ones, and those in which something goes wrong."""

from __future__ import annotations

from pathlib import Path

from tests.agents.make_recordings import RECORDINGS
from tests.agents.make_recordings import SICK as SICK_NAMES

DIRECTORY = Path(__file__).parents[1] / "recordings"
SHIPPED = sorted(DIRECTORY.glob("*.db"))
HEALTHY = [path for path in SHIPPED if path.stem in RECORDINGS]
SICK = [path for path in SHIPPED if path.stem in SICK_NAMES]
