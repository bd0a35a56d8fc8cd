"""Benchmarks over HTTP."""
