"""Discussions of models, of their versions and of published results."""
