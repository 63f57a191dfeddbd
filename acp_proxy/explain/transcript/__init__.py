"""The conversation of a recording, turn by turn."""
