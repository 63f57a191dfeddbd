"""The command line: the only click."""
