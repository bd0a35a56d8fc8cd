"""Runs of a model on the inputs of a user."""
