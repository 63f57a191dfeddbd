"""The conversation of a recording, for a person to read: what was said and done, turn by turn."""
