"""Runs of a model on inputs that somebody gave."""
