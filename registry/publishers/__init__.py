"""Trusted publishers: workflows whose identity becomes a token of minutes."""
