"""Searches the texts of a recording, however they were escaped and cut into chunks."""
