"""The former address of `hub.client.training.torch`; both work."""

from hub.client.training.torch import load, tensors

__all__ = ["load", "tensors"]
