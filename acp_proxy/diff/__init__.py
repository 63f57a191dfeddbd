"""Compares two recordings of one scenario."""
