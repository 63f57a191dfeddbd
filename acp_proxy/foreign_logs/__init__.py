"""Reads the logs of other tools: lines in, messages with their streams and times out."""
