"""The `hub` command: one module for each group of commands."""
