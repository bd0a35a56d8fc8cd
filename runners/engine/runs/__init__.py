"""Running models: inputs, results, comparisons, and the first node that differs."""
