"""Where the time and the bytes of a recording went."""
