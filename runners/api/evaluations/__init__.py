"""Measured accuracy over HTTP."""
