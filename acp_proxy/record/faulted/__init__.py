"""Pumps that send each line through the fault engine."""
