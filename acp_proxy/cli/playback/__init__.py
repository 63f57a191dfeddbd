"""The commands `replay` and `verify`."""
