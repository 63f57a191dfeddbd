"""The command line; only this package uses click."""
