"""Packages of versions, and how their decoders generate, as linked data."""
