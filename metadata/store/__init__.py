"""Stored graphs: writing, checking, negotiating and dumping them."""
