"""The text form of a recording: reads and writes its lines, without files or databases."""
