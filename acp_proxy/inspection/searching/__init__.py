"""Finds what a person has read, however it was written and cut."""
