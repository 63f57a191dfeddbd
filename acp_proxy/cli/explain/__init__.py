"""The commands that explain a recording, and the screens of these commands."""
