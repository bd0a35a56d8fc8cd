"""Pages of documentation."""
