"""Reads a recording as a conversation: prompts, messages, tool calls and requests, by turns."""
