"""Conformance of runtimes: one model's checks, and the operator suite."""
