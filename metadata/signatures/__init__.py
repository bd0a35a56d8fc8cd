"""Signatures of publishers as linked data."""
