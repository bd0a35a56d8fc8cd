"""The commands of the REST API: each names an operation, and its arguments come from that."""
