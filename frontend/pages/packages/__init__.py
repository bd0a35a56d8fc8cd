"""Packages on the pages of a version."""
