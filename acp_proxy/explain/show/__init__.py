"""Summarizes a recording, and finds out why a conversation failed."""
