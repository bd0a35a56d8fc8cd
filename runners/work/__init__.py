"""Doing a claimed job: files, sandbox, lease and end."""
