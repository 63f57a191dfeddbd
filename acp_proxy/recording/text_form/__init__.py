"""The text form of a recording, line by line, without files or databases."""
