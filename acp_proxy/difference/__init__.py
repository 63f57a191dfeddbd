"""Compares two recordings; pure, over rows."""
