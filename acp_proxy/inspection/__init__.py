"""Looks at recorded frames and says what they mean: pure code."""
