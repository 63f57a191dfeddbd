"""The commands that explain a recording, each with its screen beside it."""
