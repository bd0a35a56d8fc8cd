"""Checks of graphs: the gate before publication, and reports after it."""
