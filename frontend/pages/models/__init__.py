"""Pages of models."""
