"""The tables and views of a recording."""
