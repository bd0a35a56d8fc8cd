"""Pages of query."""
