"""Keeps frames and hands them out again: the only SQL of the package."""
