"""The addresses of `onnx.hub` (onnx 1.11 to 1.20.1): a manifest made of published models.

Each entry is one model at one opset, and names its file by version, so that it means the same
bytes permanently. Source: onnx/hub.py of onnx 1.20.1.
"""
