"""Measured accuracy: which versions are evaluated on which data, and the results."""
