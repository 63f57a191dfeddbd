"""Turns the log of a recorder into rows, masked on the way."""
