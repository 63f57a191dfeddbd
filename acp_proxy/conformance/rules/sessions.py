"""Rules of this group."""
