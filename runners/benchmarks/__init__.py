"""Benchmarks: what is owed, records and their checks, rankings, contributions."""
