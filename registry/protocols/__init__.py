"""Protocols of clients that exist, each in a folder of its own."""
