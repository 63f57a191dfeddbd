"""Finds and masks secrets in the messages of a connection, without files, clocks or SQL."""
