"""Explains recorded messages to a person: show, log, stats, audit, transcript and search."""
