"""Slow twins of the package's rules, written from their descriptions and never from its code."""
