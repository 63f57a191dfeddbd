"""Measures how a recording spent its time and its bytes."""
