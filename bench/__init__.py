"""Measures what acp-proxy costs, compared with no proxy and with the fastest possible proxy."""
