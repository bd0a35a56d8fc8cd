"""Measured accuracy: which versions are evaluated on which data, and what came of it."""
