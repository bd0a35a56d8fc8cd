"""Lists and searches of models: documents, facets, full text, columns."""
