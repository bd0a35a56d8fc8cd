"""Changes of accounts, namespaces and tokens: each function is one transaction."""
