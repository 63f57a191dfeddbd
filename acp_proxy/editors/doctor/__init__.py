"""Checks what is installed, configured and running. The checks only read, and change nothing."""
