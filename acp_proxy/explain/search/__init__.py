"""Finds a pattern in recorded lines, strings and streamed texts."""
