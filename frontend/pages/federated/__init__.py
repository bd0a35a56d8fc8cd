"""Pages of federated."""
