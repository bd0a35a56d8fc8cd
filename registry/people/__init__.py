"""Accounts, namespaces and tokens."""
