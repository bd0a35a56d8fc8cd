"""Webhooks beside the jobs of a worker."""
