"""Mirrors beside the jobs of a worker."""
