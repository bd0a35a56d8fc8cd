"""Changes of models and versions: each function is one transaction."""
