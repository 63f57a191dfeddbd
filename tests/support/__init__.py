"""Helpers that several tests share: they make recordings and conversations, and read outputs."""
