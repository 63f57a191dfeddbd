"""The files of recordings: opens databases, lists directories, and finds recordings by name."""
