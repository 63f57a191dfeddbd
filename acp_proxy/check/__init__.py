"""Checks a recorded conversation against the rules of the protocol."""
