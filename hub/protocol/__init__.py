"""What client and server must agree on: references, digests, manifests and the error tree.

Only the standard library is imported here, so that both sides can rely on it at no cost.
"""
