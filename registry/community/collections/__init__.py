"""Collections: lists of models that namespaces keep."""
