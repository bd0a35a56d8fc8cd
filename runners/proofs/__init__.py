"""Checks, conformance and upgrades of versions: what is owed, and what was found."""
