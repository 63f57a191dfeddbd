"""Runs the engines on streams and processes."""
