"""What all tests share: Hypothesis draws the same examples in every run.

``--hypothesis-profile thorough`` draws many more, and others each time.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.transcripts", "tests.playbook")

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=50, database=None)
settings.register_profile("thorough", deadline=None, max_examples=2000, database=None)
settings.load_profile("ci")
