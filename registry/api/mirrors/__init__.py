"""The API of mirrors."""
