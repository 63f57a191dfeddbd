"""The tests, their peers and their data."""
