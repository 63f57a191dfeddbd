"""Reads the logs of recorders, and finishes recordings that dead recorders have left behind."""
