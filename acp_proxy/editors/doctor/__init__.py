"""Checks what is installed, configured and running. The checks change nothing."""
