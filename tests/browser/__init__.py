"""Tests report pages in a real browser."""
