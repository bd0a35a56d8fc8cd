"""Saved comparisons: models that a user compares, private or shared by a link."""
