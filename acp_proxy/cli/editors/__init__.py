"""The commands `setup` and `doctor`."""
