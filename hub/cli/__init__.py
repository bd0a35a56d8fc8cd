"""The `hub` command: one module for each group of commands."""

from hub.cli.command import main

__all__ = ["main"]
