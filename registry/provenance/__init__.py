"""Provenance that readers can verify: the transparency log of the hub, and its attestations."""
