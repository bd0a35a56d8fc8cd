"""Checks, conformance and upgrades of versions: scheduling and results."""
