"""Jobs of federated trainings."""
