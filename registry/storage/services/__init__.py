"""Changes of stored bytes and their rows."""
