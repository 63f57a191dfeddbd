"""Queries of an open recording; each is a function or a class."""
