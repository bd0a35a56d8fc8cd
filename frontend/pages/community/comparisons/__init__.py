"""Pages of saved comparisons."""
