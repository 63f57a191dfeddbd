"""Returns the fuzz targets by name. Each is imported on request, as atheris requires."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.target import Target

NAMES = (
    "framing",
    "classification",
    "splicing",
    "text_form",
    "foreign_logs",
    "filter_grammar",
    "plan_reader",
    "log_reader",
    "database_reader",
    "redactor",
)


def target(name: str) -> Target:
    """Imports and returns a fuzz target."""
    module: Target = importlib.import_module(f"tests.fuzz.{name}").TARGET
    return module
