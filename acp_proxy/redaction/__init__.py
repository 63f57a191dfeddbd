"""Finds and masks secrets in the messages of a connection; pure, without files, clocks or SQL."""
