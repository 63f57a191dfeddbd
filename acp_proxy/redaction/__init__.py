"""Finds and masks secrets in the messages of a connection. Its code uses no files, clocks or SQL."""
