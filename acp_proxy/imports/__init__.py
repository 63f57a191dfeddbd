"""Reads the logs of other tools: converts their text to messages and remarks."""
