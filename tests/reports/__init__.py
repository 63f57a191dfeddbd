"""Public reports of bugs as recordings: `python -m tests.reports` writes tests/data/reports."""
