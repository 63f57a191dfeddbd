"""Writes the conversation of a recording as a transcript, turn by turn."""
