"""Pages of cards."""
