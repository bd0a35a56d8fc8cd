"""The ONNX engine: everything that opens an uploaded file, and nothing of the site around it.

It runs only as `python -m runners.engine`, a fork server that holds no secret and gives every stage
of every job a child of its own. It imports neither Django nor any other room.
"""
