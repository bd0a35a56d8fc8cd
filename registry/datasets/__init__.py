"""Data sets as entries of the hub."""
