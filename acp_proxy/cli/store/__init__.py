"""The commands that list, import, export, annotate and delete recordings."""
