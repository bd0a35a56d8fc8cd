"""Files derived from a model's graph for pages: nodes, tensors, differences, annotated copies."""
