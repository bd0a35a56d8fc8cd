"""The formats in which Hub clients send large files.

Chunks come packed in xorbs, and shards say how files are made of chunks.

Pure: bytes in, records out; no database and no settings. All input here is untrusted,
so every length is checked before it is used, and nothing is read whole but a single chunk.
Source: the public Xet specification (huggingface.co/docs/xet), and draft-denis-xet.
"""
