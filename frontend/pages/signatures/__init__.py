"""Signatures of publishers on the pages of versions and namespaces."""
