"""Pages of proofs."""
