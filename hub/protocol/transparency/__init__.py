"""What hub and readers of its transparency log agree on: the tree, signed heads, and records."""
