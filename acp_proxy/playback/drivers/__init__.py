"""Drivers that run the engines on streams and processes."""
