"""Helpers of the tests: recordings, conversations, machines and readers."""
