"""Shared by replay and verify: recorded steps, comparison, divergences, pacing."""
