"""Webhooks: addresses of others that the hub informs of events (standardwebhooks.com)."""
