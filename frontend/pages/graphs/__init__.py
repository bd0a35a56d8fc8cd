"""Pages of graphs."""
