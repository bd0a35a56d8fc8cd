"""Drawings that the server makes."""
