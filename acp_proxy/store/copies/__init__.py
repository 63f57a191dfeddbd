"""Makes a recording of text and of other tools' logs, and text of a recording."""
