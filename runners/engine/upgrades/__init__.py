"""Upgrades of the opset, and the evidence that they are equal."""
