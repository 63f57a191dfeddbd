"""Serves the live window of `acp-proxy web`: a page that shows recordings while they grow."""
