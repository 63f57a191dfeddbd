"""Turns the log of a recorder into masked rows."""
