"""Questions to an open recording; a function or a class for each."""
