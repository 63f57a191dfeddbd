"""The summary of a recording, and what went wrong."""
