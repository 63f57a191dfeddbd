"""Explains recorded frames: what they mean, what is wrong, where the time went."""
