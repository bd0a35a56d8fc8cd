"""Benchmarks: scheduling, records and their checks, rankings, contributions."""
