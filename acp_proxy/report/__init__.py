"""Writes a recording as a single HTML file: facts, data, and the scripts that show the data."""
