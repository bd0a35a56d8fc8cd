"""A device's side of a federated training."""
