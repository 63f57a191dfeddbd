"""Does the same with many recordings: one verdict each, kept in a file, on one machine or many."""
