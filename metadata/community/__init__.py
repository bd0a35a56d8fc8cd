"""The graphs of collections."""
