"""Reads the log of a recorder, and finishes what one has left behind."""
