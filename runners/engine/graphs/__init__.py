"""Derived files and differences of graphs."""
