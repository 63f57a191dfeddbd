"""Reads the logs of other tools: text comes in, messages and remarks go out."""
