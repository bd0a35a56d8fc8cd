"""Pages of compare."""
