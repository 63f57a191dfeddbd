"""Where the time and the bytes went."""
