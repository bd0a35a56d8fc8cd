"""Pages of linked_data."""
