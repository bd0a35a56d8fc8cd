"""Tasks of a training: what a model exchanges, whether contributions fit it, and their aggregate.

Nothing here needs a runtime; contributions are mapped and read as numbers only. The rules and
their formulas are in docs/federated.md.
"""
