"""Tests reports in a real browser."""
