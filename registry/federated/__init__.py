"""Federated learning: devices contribute to a version's weights, and get back a version."""
