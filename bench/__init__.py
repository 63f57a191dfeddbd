"""Measures what acp-proxy costs, as ratios to no proxy at all and to the least possible one."""
