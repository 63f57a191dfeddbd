"""The targets, by name. They are imported on request, so that atheris can import them."""

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
    """Imports a target."""
    module: Target = importlib.import_module(f"tests.fuzz.{name}").TARGET
    return module
