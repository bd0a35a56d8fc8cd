"""Pages of queue."""
