"""Rows in words, for several pages."""
