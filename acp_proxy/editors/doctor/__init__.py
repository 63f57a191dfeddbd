"""Checks what is installed, configured and running; they only read and never change anything."""
