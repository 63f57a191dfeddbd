"""The kinds of faults, one file for each family."""
