"""The replay engine: pure machines that take events and return commands."""
