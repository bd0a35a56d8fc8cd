"""Bytes, named by their SHA-256: uploads, quotas, chunks, and freeing what nothing needs."""
