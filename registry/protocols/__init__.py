"""Protocols of clients that exist: the Hugging Face Hub, git, and onnx.hub."""
